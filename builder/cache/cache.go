// Package cache keeps what was downloaded and what was made, so that nothing is done twice, and can say why something was.
//
//	blobs/ab/SHA256     files by their content: packages, indexes, mongod
//	parts/NAME/KEY      results by everything that went into them; KEY is the hash of the inputs, and of the program that made it
//	last/NAME/IMAGE     the inputs of an image's last build of a part, to say what changed
//	state/...           what a package keeps for itself (State)
//	seals/...           size and time of every file of a blob or part, as they were when it was complete
//	locks/, tmp/        one lock a part, so that two builds share one cache; half-made things
//
// Everything is made under tmp/ and renamed when complete; a cache can be deleted at any time. What no longer fits its seal (a disk that filled up, a loss of
// power, somebody's hand) is made or fetched again. A change that keeps size and time is not seen. A part that nobody took for 60 days is removed.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"grove/internal/host"
	"grove/internal/step"
)

// Cache is one folder; several builds may use it at once.
type Cache struct {
	dir   string
	host  host.Host
	maker string // sum of the program that runs
}

// Open makes the folder if it is missing.
func Open(dir string, h host.Host) (*Cache, error) {
	for _, sub := range []string{"blobs", "parts", "last", "state", "seals", "locks", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, fmt.Errorf("make the cache: %w", err)
		}
	}
	maker, err := self()
	if err != nil {
		return nil, fmt.Errorf("open the cache: %w", err)
	}
	c := &Cache{dir: dir, host: h, maker: maker}
	c.sweep()
	return c, nil
}

// self is the sum of the program that runs, which bears on all that it makes: another version of it may make another thing of the same inputs, or look for it elsewhere.
var self = sync.OnceValues(func() (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
})

// Default is GROVE_CACHE, or grove in the user's cache folder.
func Default() (string, error) {
	if dir := os.Getenv("GROVE_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for the cache: %w; set GROVE_CACHE", err)
	}
	return filepath.Join(dir, "grove"), nil
}

// Dir is the cache's folder.
func (c *Cache) Dir() string { return c.dir }

// State is a folder that belongs to one package.
func (c *Cache) State(name string) (string, error) {
	dir := filepath.Join(c.dir, "state", name)
	return dir, os.MkdirAll(dir, 0o755)
}

// Lock takes the lock of a name, waiting for another build that has it.
func (c *Cache) Lock(ctx context.Context, name string, waiting func()) (func(), error) {
	return c.host.Lock(ctx, filepath.Join(c.dir, "locks", strings.ReplaceAll(name, "/", "-")), waiting)
}

// Temp is a fresh name under tmp/, not made. It is on the same file system as the rest.
func (c *Cache) Temp(name string) (string, func(), error) {
	dir, err := os.MkdirTemp(filepath.Join(c.dir, "tmp"), name+"-")
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder in the cache: %w", err)
	}
	return filepath.Join(dir, name), func() { removeAll(dir) }, nil
}

func (c *Cache) blob(sum string) string { return filepath.Join(c.dir, "blobs", sum[:2], sum) }

// Blob finds the file with this SHA-256 (64 hex digits).
func (c *Cache) Blob(sum string) (path string, found bool) {
	if len(sum) != 2*sha256.Size {
		return "", false
	}
	return c.blob(sum), c.whole(c.blob(sum))
}

// Partial is where a download of a blob grows until it is complete; it stays after a break, to be resumed.
func (c *Cache) Partial(sum string) string { return filepath.Join(c.dir, "tmp", sum+".partial") }

// Keep takes a complete file into the blobs, if its SHA-256 is sum; otherwise the file is removed and the error gives both hashes.
func (c *Cache) Keep(file, sum string) (path string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	f.Close()
	if err != nil {
		return "", err
	}
	if have := hex.EncodeToString(h.Sum(nil)); have != sum {
		os.Remove(file)
		return "", &Mismatch{Have: have, Want: sum}
	}
	path = c.blob(sum)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(file, path); err != nil {
		return "", err
	}
	return path, c.seal(path)
}

// Mismatch is a file whose SHA-256 is not the expected one.
type Mismatch struct{ Have, Want string }

func (m *Mismatch) Error() string { return fmt.Sprintf("have sha256 %s, want %s", m.Have, m.Want) }

// Input is one thing that a part depends on: a name for people and a value (a hash, a version, the whole text).
type Input struct{ Name, Value string }

// Part is something to be made once for the same inputs.
type Part struct {
	Name   string  // `initramfs/busybox`
	For    string  // the image that asks, to say what changed since its last build
	Inputs []Input // all that bears on the result; that it is this Grove's goes without saying
	// Make writes the result, a file or a folder, to a path that does not exist yet.
	Make func(ctx context.Context, to string) error
}

// Get gives the path of the part, made afresh if no part with the same inputs is kept; the outcome says why.
func (c *Cache) Get(ctx context.Context, p Part) (string, step.Outcome, error) {
	p.Inputs = append(slices.Clone(p.Inputs), Input{Name: "Grove itself", Value: c.maker})
	path := filepath.Join(c.dir, "parts", p.Name, key(p.Inputs))
	why := c.why(p)
	if c.whole(path) {
		c.taken(path)
		return path, step.Outcome{Reused: true, Why: "nothing changed"}, c.remember(p)
	}
	unlock, err := c.Lock(ctx, "part-"+p.Name, nil)
	if err != nil {
		return "", step.Outcome{}, err
	}
	defer unlock()
	if c.whole(path) {
		return path, step.Outcome{Reused: true, Why: "another build just made it"}, c.remember(p)
	}
	if _, err := os.Stat(path); err == nil {
		why = "the kept one is damaged"
		removeAll(path)
	}
	temp, clean, err := c.Temp(filepath.Base(p.Name))
	if err != nil {
		return "", step.Outcome{}, err
	}
	defer clean()
	if err := p.Make(ctx, temp); err != nil {
		return "", step.Outcome{}, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", step.Outcome{}, err
	}
	if err := os.Rename(temp, path); err != nil {
		return "", step.Outcome{}, err
	}
	if err := c.seal(path); err != nil {
		return "", step.Outcome{}, err
	}
	return path, step.Outcome{Why: why}, c.remember(p)
}

// Changed says what of a part's inputs differs from the image's last build, and remembers these. It is for a result that is not kept in the cache.
func (c *Cache) Changed(p Part) string {
	why := c.why(p)
	if why == "the kept one is gone" {
		why = "the last one is gone or was changed"
	}
	if err := c.remember(p); err != nil {
		return why + " (and the next build will say so again: " + err.Error() + ")"
	}
	return why
}

func key(inputs []Input) string {
	h := sha256.New()
	for _, in := range inputs {
		fmt.Fprintf(h, "%d:%s=%d:%s\n", len(in.Name), in.Name, len(in.Value), in.Value)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func (c *Cache) last(p Part) string {
	return filepath.Join(c.dir, "last", strings.ReplaceAll(p.Name, "/", "-"), p.For)
}

// why compares with the image's last build of the part.
func (c *Cache) why(p Part) string {
	data, err := os.ReadFile(c.last(p))
	var old []Input
	if err != nil || json.Unmarshal(data, &old) != nil {
		return "first build"
	}
	was := map[string]string{}
	for _, in := range old {
		was[in.Name] = in.Value
	}
	var changed []string
	for _, in := range p.Inputs {
		if v, known := was[in.Name]; !known {
			changed = append(changed, in.Name+" is new")
		} else if v != in.Value {
			changed = append(changed, in.Name+" changed")
		}
		delete(was, in.Name)
	}
	for _, in := range old {
		if _, gone := was[in.Name]; gone {
			changed = append(changed, in.Name+" is gone")
		}
	}
	if changed == nil {
		return "the kept one is gone"
	}
	if len(changed) > 4 {
		changed = append(changed[:3], fmt.Sprintf("and %d more", len(changed)-3))
	}
	return strings.Join(changed, ", ")
}

func (c *Cache) remember(p Part) error {
	data, err := json.Marshal(p.Inputs)
	if err != nil {
		return err
	}
	path := c.last(p)
	if old, err := os.ReadFile(path); err == nil && string(old) == string(data) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, clean, err := c.Temp("last")
	if err != nil {
		return err
	}
	defer clean()
	if err := os.WriteFile(temp, data, 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// removeAll deletes a tree even where folders are read-only.
func removeAll(dir string) {
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			os.Chmod(path, 0o755)
		}
		return nil
	})
	os.RemoveAll(dir)
}
