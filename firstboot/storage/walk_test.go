package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/swap"
	"grove/internal/size"
	"grove/internal/spec"
)

// layouts are the ways to lay out a storage, each with and without volumes, by either file system.
func layouts() (all []spec.Storage) {
	for _, level := range []spec.Level{"10", "0", "1", "none"} {
		for _, volumes := range []spec.Volumes{{}, {Data: 90, Log: 5, Journal: 5}, {Data: 100}, {Data: 50, Log: 10}} {
			for _, fs := range []string{"xfs", "ext4"} {
				chunk := 256 * size.KiB
				if level == "1" || level == "none" {
					chunk = 0
				}
				all = append(all, spec.Storage{Disks: []spec.Selector{{Bus: "virtio", Count: level.Least()}}, Raid: spec.Raid{Level: level, Chunk: chunk}, Volumes: volumes, Filesystem: fs,
					Options: []string{"noatime"}})
			}
		}
	}
	return all
}

func name(s spec.Storage) string {
	return fmt.Sprintf("raid %s, volumes %d %d %d, %s", s.Raid.Level, s.Volumes.Data, s.Volumes.Log, s.Volumes.Journal, s.Filesystem)
}

type walker struct {
	*fake
	storage spec.Storage
	said    []string
	waited  int
	last    plan.Plan
	err     error
}

func newWalker(seed uint64, s spec.Storage) *walker {
	return &walker{fake: newFake(seed, s.Disks[0].Count), storage: s}
}

func (w *walker) run() *Run {
	return &Run{Machine: w.fake, Journal: w.fake, Decide: w.decide, Uptime: func() time.Duration { return 0 },
		Want: func() plan.Want {
			return plan.Want{Identity: db1, Storage: &w.storage, Recording: true, Waited: w.waited}
		},
		Tell: func(e Event) {
			switch e.Kind {
			case Begins:
				w.said = append(w.said, e.Act.Name)
			case Failed:
				w.err = e.Err
			}
		}}
}

// boot goes on until there is nothing left to do, or the power goes at the step; 0 is never.
func (w *walker) boot(cut int) (cutOff bool) {
	defer func() {
		if r := recover(); r == errCut {
			cutOff = true
		} else if r != nil {
			panic(r)
		}
	}()
	w.fake.boot()
	w.steps, w.cut, w.said, w.err = 0, cut, nil, nil
	for range 10 {
		w.last, w.err = w.run().Once(context.Background())
		if w.err != nil || len(w.last.Acts) == 0 || len(w.last.Refused) > 0 {
			return false
		}
	}
	panic("BUG: the plan does not come to an end")
}

// stands says what keeps a walker from having all that it wants.
func (w *walker) stands() string {
	switch {
	case w.err != nil:
		return w.err.Error()
	case !w.last.Done():
		return fmt.Sprintf("%+v", w.last)
	}
	return ""
}

func TestWalkEveryLayoutIsMadeOfBlankDisks(t *testing.T) {
	for _, s := range layouts() {
		w := newWalker(1, s)
		if w.boot(0); w.stands() != "" {
			t.Errorf("%s: %s", name(s), w.stands())
		}
		if !strings.Contains(w.String(), "seal true") || !strings.Contains(w.String(), " on /data\n") {
			t.Errorf("%s: got\n%s", name(s), w)
		}
	}
}

func TestWalkSecondBootOnlyPutsToUse(t *testing.T) {
	for _, s := range layouts() {
		w := newWalker(1, s)
		w.boot(0)
		before, records := w.String(), len(w.records)
		w.boot(0)
		if diff := cmp.Diff(before, w.String()); diff != "" || w.stands() != "" || len(w.records) != records {
			t.Errorf("%s: %s, %d records more\n%s", name(s), w.stands(), len(w.records)-records, diff)
		}
		for _, sentence := range w.said {
			if verb, _, _ := strings.Cut(sentence, " "); !strings.Contains("assemble activate mount link", verb) {
				t.Errorf("%s: %s", name(s), sentence)
			}
		}
		w.said = nil
		if p, err := w.run().Once(context.Background()); err != nil || !p.Done() || len(w.said) > 0 {
			t.Errorf("%s: a look at what stands plans %+v, %v", name(s), p, err)
		}
	}
}

// The heart of it: the power goes at every step there is, and again and again on the way back.
func TestWalkPowerMayGoAtAnyPoint(t *testing.T) {
	walks := 0
	for _, s := range layouts() {
		whole := newWalker(1, s)
		whole.boot(0)
		for cut := 1; cut <= whole.steps; cut++ {
			for seed := range uint64(6) {
				walks++
				w := newWalker(seed, s)
				w.boot(cut)
				random := rand.New(rand.NewPCG(seed, uint64(cut)))
				for range seed % 4 {
					w.boot(1 + random.IntN(whole.steps))
				}
				w.boot(0)
				if diff := cmp.Diff(whole.String(), w.String()); diff != "" || w.stands() != "" {
					t.Fatalf("%s, cut at step %d of %d, seed %d: %s\nuninterrupted - this +\n%s", name(s), cut, whole.steps, seed, w.stands(), diff)
				}
			}
		}
	}
	if t.Logf("%d walks", walks); walks < 2000 {
		t.Errorf("%d walks; want thousands", walks)
	}
}

// With somebody's data on any one of the disks nothing is written anywhere: the fake panics if that disk is, and its print shows all others.
func TestWalkDataOfOthersStops(t *testing.T) {
	for _, s := range layouts() {
		for bad := range s.Disks[0].Count {
			w := newWalker(uint64(bad), s)
			w.disks[bad].carries = thing{kind: "ntfs", files: true}
			before := w.String()
			if w.boot(0); w.String() != before || len(w.last.Refused) != 1 || len(w.records) > 0 {
				t.Errorf("%s: refused %+v\n%s", name(s), w.last.Refused, cmp.Diff(before, w.String()))
			}
		}
	}
}

// An old file system that comes to light on the new array or volume, since it lies at the same place as before, is somebody's data, too.
func TestWalkOldDataOnANewDeviceStops(t *testing.T) {
	for _, s := range layouts() {
		if s.Raid.Level == "none" && s.Volumes == (spec.Volumes{}) {
			continue // the disk itself: see above
		}
		w := newWalker(1, s)
		w.stale = "ext4"
		for range 2 {
			if w.boot(0); w.err == nil && len(w.last.Refused) == 0 || len(w.mounts) > 0 {
				t.Errorf("%s: got %v, %+v\n%s", name(s), w.err, w.last, w)
			}
		}
	}
}

// A disk is lost, a blank one is in its place, and the power goes at every step of the rebuilding: the data is never touched, and in the end the array is whole.
func TestWalkRebuilding(t *testing.T) {
	for _, level := range []spec.Level{"10", "1"} {
		s := layouts()[0]
		s.Raid.Level, s.Rebuild, s.Disks[0].Count = level, true, level.Least()
		for cut := range 12 {
			w := newWalker(uint64(cut), s)
			w.boot(0)
			w.array.files = true
			lost := w.disks[cut%len(w.disks)]
			lost.serial, lost.member = "new", nil
			w.waited = 60
			w.boot(cut)
			w.boot(0)
			whole := len(w.running) == level.Least() && lost.member != nil && w.array.files && w.stands() == ""
			if again, err := w.run().Once(context.Background()); !whole || err != nil || !again.Done() {
				t.Errorf("RAID %s, cut at step %d: %s, then %+v, %v\n%s", level, cut, w.stands(), again, err, w)
			}
		}
	}
}

// Swap on a stick, in a file and in RAM, with the power going at every step.
func TestWalkSwap(t *testing.T) {
	whole := swapWalk(0)
	if got, want := whole.String(), "in use [/dev/sdu1 /state/grove/swap /dev/zram0]"; !strings.Contains(got, want) {
		t.Fatalf("want %s in\n%s", want, got)
	}
	for cut := 1; cut <= whole.steps; cut++ {
		w := swapWalk(cut, cut/2+1)
		if diff := cmp.Diff(whole.String(), w.String()); diff != "" || w.stands() != "" {
			t.Errorf("cut at step %d: %s\nuninterrupted - this +\n%s", cut, w.stands(), diff)
		}
	}
	theirs := newWalker(1, layouts()[0])
	theirs.disks, theirs.stick = nil, &thing{kind: "vfat", files: true}
	if theirs.swapOn(0); len(theirs.last.Refused) != 1 || theirs.stick.kind != "vfat" || len(theirs.swaps) != 2 {
		t.Errorf("somebody's stick: refused %+v, swap on %v, want the two others", theirs.last.Refused, theirs.swaps)
	}
}

func swapWalk(cuts ...int) *walker {
	w := newWalker(1, layouts()[0])
	w.disks, w.stick = nil, &thing{}
	for _, cut := range append(cuts, 0) {
		w.swapOn(cut)
	}
	return w
}

// swapOn is a boot that sees to swap only.
func (w *walker) swapOn(cut int) {
	defer func() {
		if r := recover(); r != nil && r != errCut {
			panic(r)
		}
	}()
	w.fake.boot()
	w.steps, w.cut = 0, cut
	r := w.run()
	want := r.Want
	r.Want = func() plan.Want {
		p := want()
		p.Swapfile, p.Swap = w.file, []spec.Swap{{On: "usb"}, {On: "state", Size: size.GiB}, {On: "zram", Size: size.GiB}}
		return p
	}
	r.Partly, r.Decide = true, func(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
		return swap.Decide(w, have, plan.Picks{}, records)
	}
	for range 2 {
		w.last, w.err = r.Once(context.Background())
	}
}

// A walk that could not fail would be worth nothing: with one guard taken away each of these writes over data, and the fake says so.
func TestWalkFailsWithoutTheirGuards(t *testing.T) {
	s := layouts()[2] // RAID 10 with three volumes
	for _, c := range []struct {
		guard string
		walk  func(w *walker)
	}{
		{"what a disk carries", func(w *walker) {
			w.disks[2].carries = thing{kind: "ntfs", files: true}
			w.blind = func(have *facts.Have) {
				for n := range have.Disks {
					have.Disks[n].Class, have.Disks[n].Content = facts.Blank, facts.Content{Sampled: true}
				}
			}
			w.boot(0)
		}},
		{"what was made upon an array", func(w *walker) {
			w.boot(0)
			w.array.files = true
			w.disks[0].member = nil // replaced by a blank disk
			w.records = w.records[:1]
			w.records[0].Done = false
			w.boot(0)
		}},
	} {
		said := func() (said string) {
			defer func() { said, _ = recover().(string) }()
			c.walk(newWalker(1, s))
			return
		}()
		if !strings.HasPrefix(said, "BUG: ") {
			t.Errorf("without a look at %s nothing happened (%q): the fake does not see it", c.guard, said)
		}
	}
}
