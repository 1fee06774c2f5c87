package lab

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/crypto/ssh"

	"grove/builder/lab/network"
	"grove/builder/lab/remote"
	"grove/internal/spec"
)

// Ports of a node that are forwarded to this machine, beside mongod's.
const (
	sshPort  = 22
	pagePort = 8080 // where a node's settings name no other
)

// SSH logs in to a node, runs a command and gives what it printed, both streams together, and its exit code.
func (l *Lab) SSH(ctx context.Context, node, command string) (output string, code int, err error) {
	client, err := l.LogIn(ctx, node, nil)
	if err != nil {
		return "", 0, err
	}
	defer client.Close()
	output, code, err = remote.Command(ctx, client, command)
	if err != nil {
		err = fmt.Errorf("%q on %s: %w", command, node, err)
	}
	return output, code, err
}

// LogIn opens an SSH connection to a node, with the lab's key or, if key is not nil, with that one.
func (l *Lab) LogIn(ctx context.Context, node string, key ssh.Signer) (*ssh.Client, error) {
	n, err := l.find(node)
	if err != nil {
		return nil, err
	}
	conn, err := l.network.Dial(ctx, n.seat.IP, sshPort)
	if err != nil {
		return nil, err
	}
	return remote.Dial(ctx, conn, l.dir, node, key)
}

// Sweep calls ports of a node from an address that no node has, and tells which of them answer.
func (l *Lab) Sweep(ctx context.Context, from, node string, ports []int) (network.Answers, error) {
	n, err := l.find(node)
	if err != nil {
		return network.Answers{}, err
	}
	return l.network.Sweep(ctx, from, n.seat.IP, ports)
}

// open forwards a node's ports for persons.
func (n *node) open() (err error) {
	if n.ssh, err = n.network.Forward(n.seat.IP, sshPort); err != nil {
		return err
	}
	n.page, err = n.network.Forward(n.seat.IP, uint16(or(n.config.Nodes[n.number].Status.Port, or(n.config.Image.Page, pagePort))))
	return err
}

// personal is what the node is told: the configuration's, and the lab's key beside the operator's.
func (n *node) personal() spec.Personal {
	p := n.config.Nodes[n.number]
	if !n.config.NoKey {
		p.SSH.Keys = append(append([]string{}, p.SSH.Keys...), n.key)
	}
	p.Network.Hosts = n.hosts()
	p.Network = n.unnamed(p.Network)
	return p
}

// hosts are the lab's addresses for names that the recipe gives others: those of the machines that the image is for.
func (n *node) hosts() map[string]string {
	all := maps.Clone(n.config.Nodes[n.number].Network.Hosts)
	for i, p := range n.config.Nodes {
		if _, named := n.config.Image.Hosts[p.Hostname]; !named || all[p.Hostname] != "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[p.Hostname] = network.At(i, p.Hostname).IP
	}
	return all
}

// announce writes what another process needs to find the lab.
func (l *Lab) announce() error {
	r := remote.Run{Dir: l.dir, Image: l.config.Image.Path}
	for _, n := range l.nodes {
		r.Nodes = append(r.Nodes, remote.Node{Name: n.seat.Name, Mongod: n.forward, SSH: n.ssh, Page: n.page})
	}
	return r.Write()
}
