package agent

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
	"grove/firstboot/plan/identity"
	"grove/firstboot/plan/swap"
	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/spec"
)

// Look is what the node has, and what it would do about it.
type Look struct {
	Identity identity.Identity `json:"identity"`
	Have     facts.Have        `json:"have"`
	Storage  plan.Plan         `json:"storage"`
	Swap     plan.Plan         `json:"swap"`
}

// Plan prints what the node would do about its disks, and the evidence, and does nothing. With --json all of it. It gives the exit code.
func Plan(args []string) int {
	ctx, cancel := context.WithTimeout(context.Background(), looking)
	defer cancel()
	look, err := decideOnly(ctx)
	if err == nil && slices.Contains(args, "--json") {
		var out []byte
		if out, err = json.MarshalIndent(look, "", "  "); err == nil {
			fmt.Println(string(out))
		}
	} else if err == nil {
		look.print(os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func decideOnly(ctx context.Context) (Look, error) {
	var image spec.Node
	data, err := os.ReadFile("/etc/grove/image.json")
	if err == nil {
		err = json.Unmarshal(data, &image)
	}
	if err != nil {
		return Look{}, fmt.Errorf("read what this image is: %w", err)
	}
	a := &Agent{Machine: host.Real{}, Console: io.Discard, image: image}
	a.page.agent = a
	now := status.Read(status.File)
	a.naming.first, a.naming.given = now.Node, now.NodeFrom != "DHCP" && now.NodeFrom != "MAC address"
	_, mounted := a.Machine.Mounted(stateFolder)
	if err := a.newSite(mounted); err != nil {
		return Look{}, err
	}
	have, err := a.site.look(ctx, a.site.records())
	if err != nil {
		return Look{}, err
	}
	look := Look{Identity: a.site.identity(), Have: have}
	var picks plan.Picks
	if image.Storage != nil {
		picks.Disks, picks.Missing, picks.Unclear = facts.Pick(have.Disks, image.Storage.Disks)
	}
	look.Storage = plan.Storage(a.site.want(), have, picks, a.site.records())
	look.Swap = swap.Decide(a.site.want(), have, picks, a.site.records())
	return look, nil
}

func (l Look) print(w io.Writer) {
	for _, d := range l.Have.Disks {
		fmt.Fprintf(w, "%s is %s\n", facts.Visible([]facts.Disk{d}), d.Class)
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
	f, err := os.OpenFile(rebuildFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
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
