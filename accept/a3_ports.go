package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"grove/internal/spec"
)

// The addresses of strangers: one more machine on the network, and one beyond it.
const neighbour, foreigner = "10.5.0.250", "192.0.2.9"

// allPorts are those of TCP.
func allPorts() []int { return ports(1, 65535) }

func ports(from, to int) (all []int) {
	for p := from; p <= to; p++ {
		all = append(all, p)
	}
	return all
}

// knownPorts are the privileged ones and those of everything that a node runs.
func knownPorts() []int {
	return append(append(ports(1, 1024), ports(8000, 8100)...), ports(27000, 27030)...)
}

// swept has db1 as it comes, and db2 with networks of its own, which leave the neighbour out.
func swept(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	second := spec.Personal{Hostname: "db2"}
	second.Firewall = spec.Firewall{Cluster: []string{"10.5.0.1/32", "10.5.0.11/32"}, Operator: []string{"10.5.0.1/32"}}
	c.Nodes = append(c.Nodes, second)
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		began := time.Now()
		near, err := r.lab.Sweep(ctx, neighbour, "db1", allPorts())
		if err != nil {
			return "", err
		}
		took := time.Since(began)
		for _, p := range append(near.Open, near.Refused...) {
			if p != 22 && p != 8080 && p != 27017 {
				return "", fmt.Errorf("port %d answers a neighbour; open %v, refused %v", p, near.Open, near.Refused)
			}
		}
		if !strings.Contains(fmt.Sprint(near.Open), "22 ") || !strings.HasSuffix(fmt.Sprint(near.Open), "27017]") {
			return "", fmt.Errorf("open to a neighbour are %v; want 22 and 27017 among them", near.Open)
		}
		for node, from := range map[string]string{"db1": foreigner, "db2": neighbour} {
			far, err := r.lab.Sweep(ctx, from, node, knownPorts())
			if err == nil && len(far.Open)+len(far.Refused) > 0 {
				err = fmt.Errorf("%s, whom %s does not know, has an answer: open %v, refused %v", from, node, far.Open, far.Refused)
			}
			if err != nil {
				return "", err
			}
		}
		tracked, err := r.untracked(ctx)
		return fmt.Sprintf("of 65535 ports %v answer a neighbour (%.0f s); none answers %s, nor a neighbour whom the settings leave out; %s", near.Open, took.Seconds(), foreigner, tracked), err
	})
}

// untracked holds many connections to mongod open, and looks how many the kernel remembers.
func (r *rig) untracked(ctx context.Context) (string, error) {
	const many = 100
	for range many {
		conn, err := net.Dial("tcp", r.forward())
		if err != nil {
			return "", err
		}
		defer conn.Close()
	}
	var remembered int
	var is string
	for deadline := time.Now().Add(time.Minute); ; { // until mongod has them
		out, code, err := r.lab.SSH(ctx, r.node, "netstat -t -n; cat /proc/sys/net/netfilter/nf_conntrack_count")
		if err != nil || code != 0 {
			return "", fmt.Errorf("count connections: exit code %d, %w: %s", code, err, out)
		}
		lines := strings.Split(strings.TrimSpace(out), "\n")
		_, _ = fmt.Sscan(lines[len(lines)-1], &remembered)
		is = fmt.Sprintf("of %d connections to mongod and all others the kernel remembers %d", strings.Count(out, ":27017"), remembered)
		if strings.Count(out, ":27017") >= many {
			break
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("mongod has not got %d connections: %s", many, out)
		}
	}
	if remembered == 0 || remembered > many/2 {
		return "", errors.New(is)
	}
	return is, nil
}
