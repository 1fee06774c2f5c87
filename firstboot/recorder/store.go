package recorder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// store is the files. Those of dir are named by numbers that grow: 00000012.json.
type store struct {
	dir string // empty without a state partition
	ram string // file of the samples that are not in dir yet

	newest  string   // file in dir
	size    int64    // of it
	waiting [][]byte // lines that are not in dir yet
}

// The bounds: 4 MiB on the medium, and in RAM 64 lines while it can't be written to, 4 hours of them where there is none, and 3 files of a day.
const (
	fileSize    = 512 << 10
	mostFiles   = 8
	longest     = 2 << 10
	mostWaiting = 64
	mostInRAM   = 240
	filesOfDay  = 3
)

// open finds where to go on, and the lines that an agent before this one has left in RAM. Those that it was about to take away, as they are in a file already, are not taken
// again: they are no later than the file's last.
func (s *store) open(boot string) {
	files := s.files()
	if len(files) > 0 {
		s.newest = files[len(files)-1]
		if info, err := os.Stat(s.newest); err == nil {
			s.size = info.Size()
		}
	}
	var last Sample
	if s.newest != "" {
		readLines(s.newest, func(_ []byte, one Sample) { last = one })
	}
	readLines(s.ram, func(line []byte, one Sample) {
		if one.Boot == boot && (last.Boot != boot || one.Uptime > last.Uptime) {
			s.waiting = append(s.waiting, bytes.Clone(line))
		}
	})
}

func (s *store) files() []string {
	if s.dir == "" {
		return nil
	}
	files, _ := filepath.Glob(filepath.Join(s.dir, "[0-9]*.json")) // its error is for bad patterns
	slices.Sort(files)
	return files
}

// add keeps a sample, in RAM at once and on the medium with its batch.
func (s *store) add(one Sample) error {
	line, err := json.Marshal(one)
	if err == nil && len(line) >= longest {
		err = fmt.Errorf("of %d bytes", len(line))
	}
	if err != nil {
		return fmt.Errorf("BUG: a sample: %w", err)
	}
	s.waiting = append(s.waiting, line)
	if most := s.most(); len(s.waiting) > most {
		s.waiting = slices.Delete(s.waiting, 0, len(s.waiting)-most)
	}
	if s.dir != "" && len(s.waiting) >= batch {
		return s.flush()
	}
	return s.hold()
}

func (s *store) most() int {
	if s.dir == "" {
		return mostInRAM
	}
	return mostWaiting
}

// hold writes what waits to the file in RAM.
func (s *store) hold() error {
	if err := os.MkdirAll(filepath.Dir(s.ram), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(s.ram+".new", text(s.waiting), 0o600); err != nil {
		return err
	}
	return os.Rename(s.ram+".new", s.ram)
}

func text(lines [][]byte) []byte {
	var all []byte
	for _, l := range lines {
		all = append(append(all, l...), '\n')
	}
	return all
}

// flush writes what waits to the medium, and begins another file when this one is full. After a failure it waits on.
func (s *store) flush() error {
	if s.dir == "" || len(s.waiting) == 0 {
		return nil
	}
	data := text(s.waiting)
	if err := s.room(int64(len(data))); err != nil {
		return errors.Join(err, s.hold())
	}
	if err := s.append(data); err != nil {
		return errors.Join(fmt.Errorf("write samples: %w", err), s.hold())
	}
	s.waiting = nil
	return s.hold()
}

// append begins with a line's end where the last line was torn by a loss of power. What was written of a failed attempt is taken back.
func (s *store) append(data []byte) error {
	f, err := os.OpenFile(s.newest, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end, err := f.Seek(0, io.SeekEnd)
	if err == nil && end > 0 {
		var last [1]byte
		if _, err = f.ReadAt(last[:], end-1); err == nil && last[0] != '\n' {
			data = append([]byte{'\n'}, data...)
		}
	}
	if err == nil {
		if _, err = f.Write(data); err != nil {
			return errors.Join(err, f.Truncate(end), f.Close())
		}
	}
	s.size = end + int64(len(data))
	return errors.Join(err, f.Close())
}

// room begins the next file when the newest is full, or there is none, and takes the oldest away.
func (s *store) room(length int64) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("make the samples' folder: %w", err)
	}
	if s.newest != "" && s.size+length < fileSize {
		return nil
	}
	number := 0
	if s.newest != "" {
		_, _ = fmt.Sscanf(filepath.Base(s.newest), "%d.json", &number) // 0 of a name that is no number's
	}
	s.newest, s.size = filepath.Join(s.dir, fmt.Sprintf("%08d.json", number+1)), 0
	for files := s.files(); len(files) >= mostFiles; files = files[1:] {
		if err := os.Remove(files[0]); err != nil {
			return fmt.Errorf("make room for samples: %w", err)
		}
	}
	return nil
}

// each gives the samples of files and of RAM, the oldest first. Of RAM it leaves out those that were written to a file meanwhile.
func (s *store) each(files []string, do func(Sample)) {
	var last Sample
	for _, file := range files {
		readLines(file, func(_ []byte, one Sample) { last = one; do(one) })
	}
	for _, line := range s.waiting {
		var one Sample
		if json.Unmarshal(line, &one) == nil && (one.Boot != last.Boot || one.Uptime > last.Uptime) {
			do(one)
		}
	}
}

// readLines passes over what is no sample: the end of a file that was being written when the power went, and what a worn card gives.
func readLines(file string, do func(line []byte, one Sample)) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, longest+1)
	for {
		line, err := r.ReadSlice('\n')
		var one Sample
		if err == nil && json.Unmarshal(line, &one) == nil && one.Boot != "" {
			do(bytes.TrimSuffix(line, []byte{'\n'}), one)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}
