package rotate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cut is a disk that is gone before its nth change, or in the middle of it where it is a write. What was written to it and not synced is lost with the power.
type cut struct {
	real
	left     int
	power    bool
	unsynced map[string]bool
}

var errGone = errors.New("gone")

func (c *cut) step() {
	if c.left--; c.left < 0 {
		for path := range c.unsynced {
			if c.power {
				_ = os.Truncate(path, 0)
			}
		}
		panic(errGone)
	}
}

func (c *cut) Rename(from, to string) error {
	c.step()
	if c.unsynced[from] {
		c.unsynced[to] = true
		delete(c.unsynced, from)
	}
	err := os.Rename(from, to) // without the real one's sync, which is of no use here and takes a minute over the whole walk
	c.step()
	return err
}

func (c *cut) Remove(path string) error {
	c.step()
	err := c.real.Remove(path)
	c.step()
	return err
}

func (c *cut) Create(path string) (packing, error) {
	c.step()
	f, err := c.real.Create(path)
	c.unsynced[path] = true
	return &cutFile{f, c, path}, err
}

type cutFile struct {
	packing
	cut  *cut
	path string
}

func (f *cutFile) Write(p []byte) (int, error) {
	n, err := f.packing.Write(p[:len(p)/2])
	f.cut.step()
	more, again := f.packing.Write(p[n:])
	return n + more, errors.Join(err, again)
}

func (f *cutFile) Sync() error {
	f.cut.step()
	delete(f.cut.unsynced, f.path)
	return nil
}

// until runs a turn until the disk is gone.
func (s *Site) until(t *testing.T, c *cut) (whole bool) {
	s.disk = c
	defer func() {
		if gone := recover(); gone != nil && gone != errGone {
			panic(gone)
		}
		s.disk = nil
	}()
	if err := s.turn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return true
}

// The agent dies, or the power goes, at each point of a turn that puts aside, packs and removes, and then at each of the turn after it.
func TestATurnGoesOnFromWhereverItEnded(t *testing.T) {
	points := 0
	for _, power := range []bool{false, true} {
		for _, keep := range []int{2, 1000} {
			for first, whole := 0, false; !whole; first++ {
				for second, same := 0, false; !same && (power || second == 0); second++ {
					whole, same = walk(t, power, keep, first, second)
					points++
				}
			}
		}
	}
	if points < 300 {
		t.Errorf("only %d points: the walk is wrong", points)
	}
	t.Logf("%d points", points)
}

func walk(t *testing.T, power bool, keep, first, second int) (firstWhole, secondWhole bool) {
	s, v := site(t)
	s.Want.Keep = keep
	turn := func(at int) (whole bool) {
		whole = s.until(t, &cut{left: at, power: power, unsynced: map[string]bool{}})
		if !whole && power { // mongod starts anew
			v.file.Close()
			v.open(t)
		}
		v.write(t, 2)
		return whole
	}
	const never = 1000
	turn(never)
	turn(never)
	firstWhole, secondWhole = turn(first), turn(second)
	turn(never)
	turn(never)
	where := fmt.Sprintf("power %v, keep %d, point %d then %d", power, keep, first, second)
	got, names := lines(t, filepath.Dir(s.Log))
	wanted := v.lines // all of them, or the last so many
	if keep == 2 {
		wanted = len(got)
	}
	if len(got) != wanted || wanted < 6 || !slices.Equal(got, theLast(wanted, v.lines)) {
		t.Errorf("%s: lines %d of %d, in %s: %s", where, len(got), v.lines, names, got)
	}
	files := strings.Fields(names)
	if plain := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return strings.HasSuffix(name, ".gz") }); len(plain) != 2 || keep == 2 && len(files) != 3 {
		t.Errorf("%s: got %s; want the log, the newest old one, and packed ones", where, names)
	}
	v.file.Close()
	return firstWhole, secondWhole
}

func theLast(n, all int) (list []string) {
	for i := all - n + 1; i <= all; i++ {
		list = append(list, text(i))
	}
	slices.Sort(list)
	return list
}
