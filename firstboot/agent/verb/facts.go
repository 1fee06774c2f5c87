// Package verb is what a person at the node's shell may ask of the agent, or tell it: firstboot facts, plan, tuning, firewall, storage rebuild, network mtu.
//
// It asks the status page or looks for itself, and leaves what is to be done where the agent finds it. Each verb gives its exit code: 0, 1 for a fault, 2 for wrong words.
package verb

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/plan/identity"
	"grove/firstboot/status"
	"grove/internal/host"
	"grove/internal/spec"
)

// looking is how long a look at all disks may take: one that does not answer keeps the kernel busy for half a minute.
const looking = 2 * time.Minute

// Facts prints, as JSON, what a node has: its disks, what is on them and what that makes of them. It gives the exit code.
func Facts() int {
	ctx, cancel := context.WithTimeout(context.Background(), looking)
	defer cancel()
	image, err := readImage()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	have, err := facts.Look(ctx, host.Real{}, "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	who := identity.Identity{Cluster: image.Cluster, Node: status.Read(status.File).Node}
	have.Disks = facts.Classify(have, facts.Who{Identity: who, Medium: image.DiskID})
	out, err := json.MarshalIndent(have, "", "  ")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(string(out))
	return 0
}

func readImage() (image spec.Node, err error) {
	data, err := os.ReadFile("/etc/grove/image.json")
	if err == nil {
		err = json.Unmarshal(data, &image)
	}
	if err != nil {
		return image, fmt.Errorf("read what this image is: %w", err)
	}
	return image, nil
}
