// Package trial puts an image to the test in the lab and gives a verdict: it boots, mongod answers from outside and keeps what is written, the node
// stops in order; with data disks it has mounted them first; the nodes of a set find each other, and what is
// written to one is on all; on demand, a cut of the power loses nothing that was acknowledged.
//
// A node that fails is a verdict, not an error. The lab's folder keeps the verdict as junit.xml beside the consoles' logs.
package trial

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grove/builder/lab"
)

// Config is a lab and what to do in it.
type Config struct {
	lab.Config
	CutPower bool // after the write, and look for the document once the node is back
}

// Verdict is what came of it.
type Verdict struct {
	Image    string        `json:"image"`
	Firmware string        `json:"firmware"`
	Bus      string        `json:"bus"`
	Passed   bool          `json:"passed"`
	Checks   []Check       `json:"checks"`
	Set      *lab.Gathered `json:"set,omitempty"` // that they are, of an image for one
	Nodes    []lab.Status  `json:"nodes"`         // as they were when all had answered, or at the first fault
	Took     time.Duration `json:"took"`
	Dir      string        `json:"dir"`
	JUnit    string        `json:"junit"`
}

// Check is one thing seen or missed.
type Check struct {
	Node  string        `json:"node"`
	Name  string        `json:"name"`
	Took  time.Duration `json:"took"`
	Fault string        `json:"fault,omitempty"`
}

// run is a trial under way.
type run struct {
	lab     *lab.Lab
	config  Config
	verdict *Verdict
}

// Run boots, checks and ends all nodes. The error is of the lab or the host, or ctx's; nothing is left running in any case.
func Run(ctx context.Context, c Config) (Verdict, error) {
	began := time.Now()
	l, err := lab.Up(ctx, c.Config)
	if err != nil {
		return Verdict{}, err
	}
	v := Verdict{Image: c.Image.Name, Firmware: l.Firmware(), Bus: l.Bus(), Dir: l.Dir(), JUnit: filepath.Join(l.Dir(), "junit.xml")}
	r := run{lab: l, config: c, verdict: &v}
	r.all(ctx)
	err = l.Close(context.WithoutCancel(ctx))
	if ctx.Err() != nil {
		return v, context.Cause(ctx)
	}
	v.Took, v.Passed = time.Since(began), passed(v.Checks)
	return v, errors.Join(err, v.writeJUnit())
}

// all is the trial; each part needs the one before.
func (r run) all(ctx context.Context) {
	if !r.answers(ctx, "mongod answers a ping from outside") {
		return
	}
	if r.config.Image.Storage && !r.each(ctx, "the data disks are ready", ready) {
		return
	}
	if r.lab.HasSet() && !r.gathers(ctx, "all nodes are one set") {
		return
	}
	if !r.keeps(ctx) {
		return
	}
	if r.config.CutPower && !(r.each(ctx, "the power is cut and comes back", r.cut) &&
		r.answers(ctx, "mongod answers again after the cut") &&
		(!r.lab.HasSet() || r.gathers(ctx, "all nodes are one set again")) &&
		r.each(ctx, "the document is still there", r.finds)) {
		return
	}
	r.each(ctx, "the power button stops the node in order", r.stops)
}

// answers waits for all nodes at once; what it took is each node's own time.
func (r run) answers(ctx context.Context, name string) bool {
	err := r.lab.Wait(ctx)
	r.verdict.Nodes = r.lab.Nodes()
	for _, n := range r.verdict.Nodes {
		check := Check{Node: n.Name, Name: name, Took: n.Times.Answer, Fault: n.Fault}
		if err != nil && check.Fault == "" && n.State != "ready" {
			check.Fault = fmt.Sprintf("%s when the trial ended: %v", n.State, err)
		}
		r.verdict.Checks = append(r.verdict.Checks, check)
	}
	return err == nil
}

// each does a check on one node after the other.
func (r run) each(ctx context.Context, name string, do func(context.Context, lab.Status) error) bool {
	all := true
	for _, n := range r.lab.Nodes() {
		began := time.Now()
		err := do(ctx, n)
		check := Check{Node: n.Name, Name: name, Took: time.Since(began)}
		if err != nil {
			check.Fault, all = err.Error(), false
		}
		r.verdict.Checks = append(r.verdict.Checks, check)
	}
	return all
}

// ready goes by the node's last word: mongod is not started before, so that it serves from them.
func ready(_ context.Context, n lab.Status) error {
	if !strings.HasPrefix(n.Storage, "ready: ") {
		return fmt.Errorf("the node said last of them: %q", n.Storage)
	}
	return nil
}

// gathers waits for the set, of which one node after the other may join: that takes longer the more there are.
func (r run) gathers(ctx context.Context, name string) bool {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+len(r.config.Nodes))*time.Minute)
	defer cancel()
	set, err := r.lab.Gather(ctx)
	check := Check{Node: set.Primary, Name: name, Took: time.Since(began)}
	if err != nil {
		check.Node, check.Fault = "set", err.Error()
	} else {
		r.verdict.Set = &set
	}
	r.verdict.Checks = append(r.verdict.Checks, check)
	return err == nil
}

// keeps writes one document to the set, to be found on each of its nodes, or one to each node without a set.
func (r run) keeps(ctx context.Context) bool {
	if r.verdict.Set == nil {
		return r.each(ctx, "a document is written, journaled and read back", func(ctx context.Context, n lab.Status) error {
			if err := r.write(ctx, n.Name, n.Name); err != nil {
				return err
			}
			return r.finds(ctx, n)
		})
	}
	began := time.Now()
	primary := r.verdict.Set.Primary
	check := Check{Node: primary, Name: "a document is written to most of the set's disks", Took: time.Since(began)}
	err := r.write(ctx, primary, ofTheSet)
	if err != nil {
		check.Fault = err.Error()
	}
	r.verdict.Checks = append(r.verdict.Checks, check)
	return err == nil && r.each(ctx, "the document is read back", r.finds)
}

// ofTheSet marks the document that all nodes of a set have.
const ofTheSet = "set"

func (r run) write(ctx context.Context, node, mark string) error {
	s, err := r.lab.Writer(node)
	if err != nil {
		return err
	}
	return s.Write(ctx, mark)
}

func (r run) cut(ctx context.Context, n lab.Status) error { return r.lab.Reset(ctx, n.Name) }

// late is how far behind the primary a secondary of the lab may be.
const late = 30 * time.Second

// finds looks for the document. An arbiter has none, a secondary may have it later.
func (r run) finds(ctx context.Context, n lab.Status) error {
	s, err := r.lab.Writer(n.Name)
	if err != nil {
		return err
	}
	set := r.verdict.Set
	if set == nil {
		return s.Read(ctx, n.Name)
	}
	if slices.Contains(set.Arbiters, n.Name) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, late)
	defer cancel()
	for {
		err := s.Read(ctx, ofTheSet)
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (r run) stops(ctx context.Context, n lab.Status) error {
	if err := r.lab.PowerOff(ctx, n.Name); err != nil {
		return err
	}
	return r.lab.Orderly(n.Name)
}

func passed(checks []Check) bool {
	for _, c := range checks {
		if c.Fault != "" {
			return false
		}
	}
	return len(checks) > 0
}
