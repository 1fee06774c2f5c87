package provision

import (
	"fmt"
	"path/filepath"
	"sync"

	"grove/firstboot/status"
)

// counter knows how much was written to each disk, in sectors: before the agent came, and before the first of its mounts.
type counter struct {
	mu     sync.Mutex
	before map[string]int64
	mount  map[string]int64 // nil without a mount
	done   bool
}

func (c *counter) mounts(root string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mount == nil {
		c.mount = sectors(root)
	}
}

// Served notes on the page what mongod's start has found written to the data disks, once.
func (s *Site) Served() {
	c := &s.count
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return
	}
	c.done = true
	now := sectors(s.Root)
	var all []status.Written
	for _, d := range s.picks {
		w := status.Written{Disk: d.Name, Sectors: now[d.Name] - c.before[d.Name]}
		if c.mount != nil {
			w.AtMount = now[d.Name] - c.mount[d.Name]
		}
		all = append(all, w)
	}
	s.Node.Page(func(page *status.Status) { page.Storage.Written = all })
}

// sectors is what was written to each disk since the kernel's start, the seventh number of Documentation/block/stat.rst.
func sectors(root string) map[string]int64 {
	counts := map[string]int64{}
	files, _ := filepath.Glob(root + "/sys/block/*/stat")
	for _, file := range files {
		var n int64
		if fields := words(file); len(fields) > 6 {
			_, _ = fmt.Sscan(fields[6], &n)
		}
		counts[filepath.Base(filepath.Dir(file))] = n
	}
	return counts
}
