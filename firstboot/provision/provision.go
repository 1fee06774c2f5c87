// Package provision gives a node its data disks, before mongod, and its swap, after; then it watches them.
//
// It brings together who the node is, what its disks carry, what its journal says and what the image asks for, has package storage do what package plan decides,
// and tells of it on the console and the page. It decides nothing itself.
package provision

import (
	"context"
	"os"
	"strings"
	"sync"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/journal"
	"grove/firstboot/plan"
	"grove/firstboot/plan/identity"
	"grove/firstboot/plan/swap"
	"grove/firstboot/status"
	"grove/firstboot/storage"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/spec"
)

// The journal lies on the state partition. Rebuild is what a person has asked for: disks for lost ones' places, a device a line.
const (
	folder  = "/state/grove/journal"
	Rebuild = status.Dir + "/rebuild"
)

// Node is the agent around it.
type Node interface {
	Say(format string, values ...any) // a line on the console, about storage
	Page(change func(*status.Status))
	Status() status.Status
	Problem(about, sentence string)
	Name() (name string, given bool) // the first that the node got, "" before, and whether a person gave it
}

// Site is a node with its disks. Root stands before every path, empty but in tests.
type Site struct {
	Machine host.Machine
	Root    string
	Image   spec.Node
	Node    Node

	hands   storage.Hands
	modules *storage.Modules
	journal storage.Journal // nil without a state partition
	mounted []string        // where the image wants its disks
	began   time.Duration   // uptime at the first look
	said    map[string]string
	picks   []facts.Disk // of the last look
	done    bool         // nothing was left to do then

	count counter
}

// Open begins with what the medium keeps of earlier boots. state says whether it is mounted. A journal that can't be read is as none: what is whole serves, and
// nothing is made.
func (s *Site) Open(state bool) {
	s.began, s.said, s.modules = s.Machine.Uptime(), map[string]string{}, &storage.Modules{Host: s.Machine, Root: s.Root}
	s.hands = storage.Hands{Host: s.Machine, Root: s.Root, Modules: s.modules.Load, Looks: s.look, Probes: s.probe}
	s.mounted = mongoconf.Where(s.Image.Storage, state).Mounted
	s.count.before = sectors(s.Root)
	if !state {
		return
	}
	j, err := journal.Read(s.Root + folder)
	if err != nil {
		s.Node.Problem("journal", err.Error())
		s.Node.Say("%v; nothing new is made on the data disks", err)
		return
	}
	s.journal = j
}

// Bring works until the data is mounted. It ends without that only with ctx: what is refused is looked at again, for a person may see to it.
func (s *Site) Bring(ctx context.Context) error {
	var loading sync.WaitGroup
	loading.Go(func() { _ = s.modules.Load(storage.Wanted(s.Image.Storage)...) }) // who needs one and does not get it says so
	defer loading.Wait()
	if err := s.run().Bring(ctx); err != nil {
		return err
	}
	s.ready()
	return nil
}

// Look is what the node has, and what it would do about it.
type Look struct {
	Identity identity.Identity `json:"identity"`
	Have     facts.Have        `json:"have"`
	Storage  plan.Plan         `json:"storage"`
	Swap     plan.Plan         `json:"swap"`
}

// Look looks and decides, and does nothing.
func (s *Site) Look(ctx context.Context) (Look, error) {
	have, err := s.look(ctx, s.records())
	if err != nil {
		return Look{}, err
	}
	var picks plan.Picks
	if s.Image.Storage != nil {
		picks.Disks, picks.Missing, picks.Unclear = facts.Pick(have.Disks, s.Image.Storage.Disks)
	}
	return Look{s.identity(), have, plan.Storage(s.want(), have, picks, s.records()), swap.Decide(s.want(), have, picks, s.records())}, nil
}

func (s *Site) run() *storage.Run {
	return &storage.Run{Machine: s.hands, Journal: s.journal, Want: s.want, Decide: s.decide, Uptime: s.Machine.Uptime, Tell: s.tell}
}

func (s *Site) want() plan.Want {
	return plan.Want{Identity: s.identity(), Storage: s.Image.Storage, Swap: s.Image.Swap, Recording: s.journal != nil, Swapfile: storage.Swapfile(s.Root + swap.File),
		Waited: int((s.Machine.Uptime() - s.began).Seconds()), Add: words(s.Root + Rebuild)}
}

// identity is that of the first name that the node got since it started; the disks have only one.
func (s *Site) identity() identity.Identity {
	name, certain := s.Node.Name()
	return plan.Whose(identity.Identity{Cluster: s.Image.Cluster, Node: name}, certain, s.records())
}

func (s *Site) records() []journal.Record {
	if s.journal == nil {
		return nil
	}
	return s.journal.All()
}

func (s *Site) look(ctx context.Context, records []journal.Record) (facts.Have, error) {
	have, err := facts.Look(ctx, s.Machine, s.Root)
	if err != nil {
		return have, err
	}
	have.Disks = facts.Classify(have, facts.Who{Identity: s.identity(), Medium: s.Image.DiskID, Begun: plan.Begun(records)})
	return have, nil
}

func (s *Site) probe(ctx context.Context, dev string) (facts.Content, error) {
	return facts.Probe(ctx, s.Machine, dev)
}

func (s *Site) decide(w plan.Want, have facts.Have, records []journal.Record) plan.Plan {
	var p plan.Picks
	p.Disks, p.Missing, p.Unclear = facts.Pick(have.Disks, w.Storage.Disks)
	s.picks = p.Disks
	decided := plan.Storage(w, have, p, records)
	decided.Notes = append(decided.Notes, have.Remarks...)
	s.show(have, decided)
	s.done = decided.Done()
	return decided
}

func (s *Site) uptime() float64 { return float64(s.Machine.Uptime().Milliseconds()) / 1000 }

// words are those of a file, none when it is not there.
func words(file string) []string {
	data, _ := os.ReadFile(file)
	return strings.Fields(string(data))
}

func lines(file string) []string {
	data, _ := os.ReadFile(file)
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
