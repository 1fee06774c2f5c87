package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"

	"grove/firstboot/facts"
	"grove/firstboot/plan"
	"grove/firstboot/provision"
	"grove/firstboot/status"
	"grove/internal/host"
)

// Plan prints what the node would do about its disks, and the evidence, and does nothing. With --json all of it. It gives the exit code.
func Plan(args []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), looking)
	defer cancel()
	look, err := decide(ctx)
	if err == nil && slices.Contains(args, "--json") {
		var out []byte
		if out, err = json.MarshalIndent(look, "", "  "); err == nil {
			fmt.Println(string(out))
		}
	} else if err == nil {
		show(os.Stdout, look)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func decide(ctx context.Context) (provision.Look, error) {
	image, err := readImage()
	if err != nil {
		return provision.Look{}, err
	}
	now := status.Read(status.File)
	machine := host.Real{}
	_, mounted := machine.Mounted("/state")
	site := provision.Site{Machine: machine, Image: image, Node: silent{now}}
	site.Open(mounted)
	return site.Look(ctx)
}

// silent is the node of a person who only asks: known by the page of the agent that runs, which alone speaks and writes.
type silent struct{ now status.Status }

func (silent) Say(string, ...any)        {}
func (silent) Page(func(*status.Status)) {}
func (silent) Problem(string, string)    {}
func (s silent) Status() status.Status   { return s.now }

func (s silent) Name() (name string, given bool) {
	return s.now.Node, s.now.NodeFrom != "DHCP" && s.now.NodeFrom != "MAC address"
}

func show(w io.Writer, l provision.Look) {
	for _, d := range l.Have.Disks {
		fmt.Fprintf(w, "%s\n", facts.Visible([]facts.Disk{d}))
		for _, e := range d.Evidence {
			fmt.Fprintf(w, "  %s\n", e)
		}
	}
	for _, p := range []plan.Plan{l.Storage, l.Swap} {
		for _, ready := range p.Ready {
			fmt.Fprintf(w, "stands: %s\n", ready)
		}
		for _, a := range p.Acts {
			fmt.Fprintf(w, "would %s\n", a.Name)
		}
		for _, wait := range p.Waits {
			fmt.Fprintf(w, "waits for %s\n", wait.Sentence)
		}
		for _, r := range p.Refused {
			fmt.Fprintf(w, "refuses %s\n", r.Sentence)
		}
	}
}

var device = regexp.MustCompile(`^/dev/[a-z][a-z0-9]*$`)

// Rebuild tells the agent to take a blank disk into its array in the place of a lost one. It gives the exit code.
func Rebuild(args []string) int {
	if len(args) != 2 || args[0] != "rebuild" || !device.MatchString(args[1]) {
		fmt.Fprintln(os.Stderr, "want storage rebuild /dev/NAME: the blank disk that takes the place of a lost one")
		return 2
	}
	f, err := os.OpenFile(provision.Rebuild, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Printf("the agent is told; what it does with %s stands on the console and in %s\n", args[1], status.File)
	return 0
}
