package join

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
)

// event is one thing that may happen.
type event struct {
	name string
	node int
	can  func(w *world, i int) bool
	do   func(w *world, i int)
}

var events = []event{
	{name: "start", can: func(w *world, i int) bool { return !w.nodes[i].up }, do: (*world).start},
	{name: "crash", can: func(w *world, i int) bool { return w.nodes[i].up }, do: (*world).crash},
	{name: "lose the disk", can: func(w *world, i int) bool { return !w.nodes[i].up && w.nodes[i].disk != nil }, do: func(w *world, i int) { w.lose(i, false) }},
	{name: "lose all", can: func(w *world, i int) bool {
		return !w.nodes[i].up && (w.nodes[i].disk != nil || w.nodes[i].memory.Set != "")
	}, do: func(w *world, i int) { w.lose(i, true) }},
	{name: "cut off or heal", can: func(*world, int) bool { return true }, do: func(w *world, i int) { w.nodes[i].cut = !w.nodes[i].cut }},
	{name: "look at the first", can: func(w *world, i int) bool { return w.nodes[i].up && w.nodes[i].view == nil && w.nodes[i].act == nil }, do: (*world).look1},
	{name: "look at the others, decide", can: func(w *world, i int) bool { return w.nodes[i].view != nil }, do: (*world).look2},
	{name: "do", can: func(w *world, i int) bool { return w.nodes[i].act != nil }, do: (*world).do},
	{name: "heartbeats", can: func(w *world, i int) bool { return w.nodes[i].up }, do: (*world).beat},
	{name: "election", can: func(w *world, i int) bool { return w.nodes[i].up && !w.nodes[i].primary && w.nodes[i].disk != nil }, do: func(w *world, i int) { w.elect(i) }},
	{name: "step down", can: func(w *world, i int) bool { return w.nodes[i].primary }, do: func(w *world, i int) { w.nodes[i].primary = false }},
}

func (e event) String() string { return fmt.Sprintf("db%d: %s", e.node+1, e.name) }

// rest lets all that is up do its work, undisturbed, until nothing changes any more.
func (w *world) rest() {
	for i := range w.nodes {
		if w.nodes[i].cut = false; !w.nodes[i].up {
			w.start(i)
		}
	}
	for range 300 {
		before := w.key()
		led := false
		for i := range w.nodes {
			w.beat(i)
			w.beat(i)
			led = led || w.nodes[i].primary
		}
		for i := range w.nodes {
			if !led {
				led = w.elect(i)
			}
		}
		for i := range w.nodes {
			w.nodes[i].view, w.nodes[i].act = nil, nil
			w.look1(i)
			for w.look2(i); w.nodes[i].act != nil; {
				w.do(i)
			}
		}
		if w.key() == before {
			return
		}
	}
}

// stuck says what is missing once all have had their rest, "" if nothing is. When every disk with the set's data is lost, and a node remembers that there was one, a person is waited for.
func (w *world) stuck() string {
	data, remembers := 0, false
	for _, n := range w.nodes {
		if n.disk != nil {
			data++
		}
		remembers = remembers || n.memory.Joined
	}
	if data == 0 && remembers {
		return ""
	}
	for i, n := range w.nodes {
		if n.disk == nil || !n.primary && !n.synced {
			return fmt.Sprintf("db%d is no member", i+1)
		}
	}
	for _, n := range w.nodes {
		if !n.primary {
			continue
		}
		want := len(w.nodes)
		if want%2 == 0 {
			want--
		}
		if n.disk.config.Voters() != want || len(n.disk.config.Members()) != len(w.nodes) {
			return "the set is " + n.disk.summary
		}
		return ""
	}
	return "there is no primary"
}

// enabled are the events that may happen now.
func (w *world) enabled(list []event) []event {
	list = list[:0]
	for i := range w.nodes {
		for _, e := range events {
			if e.can(w, i) {
				e.node = i
				list = append(list, e)
			}
		}
	}
	return list
}

// TestEveryInterleavingOfThree goes through all that may happen to three nodes, from nothing at all, from a set, and from the middle of a join, as deep as the number of states allows.
func TestEveryInterleavingOfThree(t *testing.T) {
	most := number("GROVE_STATES", 60_000)
	for name, begin := range map[string]*world{"nothing": newWorld(3), "a set": whole(3), "one founded": alone(3)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, depth, rested := everywhere(t, begin, most)
			t.Logf("%s: %d states to a depth of %d, %d of them brought to rest", name, states, depth, rested)
		})
	}
}

// whole is a set of all, alone one of the first node, that the others are about to join.
func whole(n int) *world {
	w := newWorld(n)
	w.rest()
	return w
}

func alone(n int) *world {
	w := newWorld(n)
	for i := range w.nodes {
		w.start(i)
	}
	w.look1(0)
	w.look2(0)
	w.do(0)
	w.do(0)
	return w
}

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// everywhere is a breadth-first walk. Every tenth state is brought to rest as well.
func everywhere(t *testing.T, begin *world, most int) (states, depth, rested int) {
	seed := maphash.MakeSeed()
	seen := map[uint64]bool{}
	type place struct {
		w     *world
		trace []event
	}
	level := []place{{begin, nil}}
	var list []event
	for ; len(level) > 0 && len(seen) < most; depth++ {
		var next []place
		for _, p := range level {
			list = p.w.enabled(list)
			for _, e := range list {
				w := p.w.clone()
				e.do(w, e.node)
				key := maphash.String(seed, w.key())
				if seen[key] {
					continue
				}
				seen[key] = true
				trace := append(p.trace[:len(p.trace):len(p.trace)], e)
				if wrong := w.wrong(); wrong != "" {
					t.Fatalf("%s after %v\n%s", wrong, trace, w.key())
				}
				if len(seen)%10 == 0 {
					rested++
					r := w.clone()
					r.rest()
					if stuck := r.stuck() + r.wrong(); stuck != "" {
						t.Fatalf("%s once all had their rest, after %v\n%s", stuck, trace, r.key())
					}
				}
				next = append(next, place{w, trace})
			}
			if len(seen) >= most {
				break
			}
		}
		level = next
	}
	return len(seen), depth, rested
}

// TestRandomWalksOfFiveAndOfSeven is for what lies deeper: GROVE_WALKS of each, 100,000 in `make accept ONLY=a4.8`.
func TestRandomWalksOfFiveAndOfSeven(t *testing.T) {
	for _, n := range []int{5, 7} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			walks := number("GROVE_WALKS", 500)
			var all sync.WaitGroup
			workers := runtime.GOMAXPROCS(0)
			for k := range workers {
				all.Go(func() {
					for seed := k; seed < walks && !t.Failed(); seed += workers {
						if said, trace := stroll(newWorld(n), uint64(seed), 60); said != "" {
							t.Errorf("walk %d: %s after %v", seed, said, trace)
						}
					}
				})
			}
			all.Wait()
			t.Logf("%d walks of %d nodes", walks, n)
		})
	}
}

// stroll is one walk: steps at random, most of them of the agents and mongods, and then rest.
func stroll(w *world, seed uint64, steps int) (said string, trace []event) {
	random := rand.New(rand.NewPCG(seed, uint64(len(w.nodes))))
	var list []event
	calm := random.IntN(4) == 0 // a quarter of the walks begins with a set
	if calm {
		w.rest()
	}
	for range steps {
		list = w.enabled(list)
		e := list[random.IntN(len(list))]
		if fault := e.name == "crash" || e.name == "lose the disk" || e.name == "lose all" || e.name == "cut off or heal" || e.name == "step down"; fault && random.IntN(3) > 0 {
			continue
		}
		e.do(w, e.node)
		trace = append(trace, e)
		if wrong := w.wrong(); wrong != "" {
			return wrong, trace
		}
	}
	w.rest()
	if said = w.stuck() + w.wrong(); said != "" {
		return said + " once all had their rest\n" + w.key(), trace
	}
	return "", nil
}

// Each guard of Decide is needed: without it the same walks find a second set.
func TestAGuardTakenOutIsFound(t *testing.T) {
	for name, lax := range map[string]func(*Mongod){
		"who is silent counts as fresh": func(m *Mongod) {
			if m.Silent != "" {
				*m = Mongod{Fresh: true}
			}
		},
		"who has not proven it is taken as fresh": func(m *Mongod) {
			if m.Unproven != "" {
				*m = Mongod{Fresh: true}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200_000) {
				w := newWorld(3)
				w.lax = lax
				if said, trace := stroll(w, seed, 60); said == "two sets" {
					t.Logf("walk %d: two sets after %d events", seed, len(trace))
					return
				}
			}
			t.Error("no walk has found a second set")
		})
	}
}
