package clock

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Kept gives the time that Keep has written, the zero time if there is none that can be read.
func Kept(file string) time.Time {
	data, err := os.ReadFile(file)
	if err != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, strings.TrimSpace(string(data)))
	if err != nil {
		return time.Time{}
	}
	return t
}

// Keep writes the time for the next boot, whole or not at all.
func Keep(file string, now time.Time) error {
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = replace(file, now.UTC().Format(time.RFC3339)+"\n")
	}
	if err != nil {
		return fmt.Errorf("keep the time: %w", err)
	}
	return nil
}

func replace(file, text string) error {
	f, err := os.Create(file + ".new")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(f.Name()) // as of a full disk
		return err
	}
	return os.Rename(f.Name(), file)
}

// lifetime is how much later than its image a node may believe itself to be; a time kept beyond it comes from a clock that was wrong.
const lifetime = 30 * 365 * 24 * time.Hour

// Floor is the time before which no clock begins, and what says so.
func Floor(image, kept time.Time) (time.Time, string) {
	if kept.After(image) && kept.Sub(image) < lifetime {
		return kept, "the time kept of the last boot"
	}
	return image, "the image's time"
}

// Guessed tells whether a clock can only have come from the floor: at the node's start, uptime ago, it would have shown an earlier time.
func Guessed(now time.Time, uptime time.Duration, floor time.Time) bool {
	return now.Add(-uptime).Before(floor)
}
