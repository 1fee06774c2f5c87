// Package remote is the way into the nodes of a lab by SSH, for the lab itself and for another process that finds the lab by its folder.
//
// A lab that is up keeps these files in its folder: lab.json (this package's Run), operator_key (made for it alone, its public part is given to the nodes) and known_hosts (the
// nodes' host keys as they were seen first; another one after that is an error), and the
// secrets of its replica set. They are removed with the lab. No ssh program is needed.
package remote

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/internal/diag"
)

// Run is a lab that is up.
type Run struct {
	Dir   string `json:"-"` // where its files are
	Image string `json:"image"`
	Nodes []Node `json:"nodes"`
}

// Node is one of its nodes. The addresses are of this machine.
type Node struct {
	Name   string `json:"name"`
	Mongod string `json:"mongod"`
	SSH    string `json:"ssh"`
	Page   string `json:"page,omitempty"` // of the status page
}

// Secrets is the file with what a lab's replica set shares, the operator's login among it. There is none where nobody need log in.
func (r Run) Secrets() string { return filepath.Join(r.Dir, secretsFile) }

// The files.
const (
	runFile   = "lab.json"
	keyFile   = "operator_key"
	knownFile = "known_hosts"

	secretsFile = "cluster.secrets.yaml"
)

// NewKey makes the operator's key of a lab, readable for its user alone, and gives the public part as authorized_keys has it.
func NewKey(dir string) (public string, err error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return "", err
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return "", err
	}
	line := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signer.PublicKey()))) + " grove-lab"
	return line, os.WriteFile(filepath.Join(dir, keyFile), pem.EncodeToMemory(block), 0o600)
}

// Write says that the lab is up. Nobody sees half of it.
func (r Run) Write() error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	file := filepath.Join(r.Dir, runFile)
	if err := os.WriteFile(file+".new", append(data, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// Remove takes the files away.
func Remove(dir string) (all error) {
	for _, name := range []string{runFile, keyFile, knownFile, secretsFile} {
		if err := os.Remove(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}

// Only gives the one lab that is up in a folder of labs.
func Only(ctx context.Context, labs string) (Run, error) {
	runs, err := allUp(ctx, labs)
	if err == nil && len(runs) > 1 {
		err = fmt.Errorf("%d labs are up in %s; name a member by --at", len(runs), labs)
	}
	if err != nil {
		return Run{}, err
	}
	return runs[0], nil
}

// allUp gives the labs that are up, at least one.
func allUp(ctx context.Context, labs string) (runs []Run, err error) {
	files, err := filepath.Glob(filepath.Join(labs, "*", runFile))
	if err != nil {
		return nil, fmt.Errorf("look for labs in %s: %w", labs, err)
	}
	for _, file := range files {
		if r, err := read(file); err == nil && r.up(ctx) {
			runs = append(runs, r)
		}
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no lab is up in %s: start one with grove lab up, or name the folder it was started with by --out", labs)
	}
	return runs, nil
}

// Find gives the lab that is up in a folder of labs and has the node. A lab that was killed left its files, but nothing listens at its ports any more.
func Find(ctx context.Context, labs, node string) (Run, Node, error) {
	runs, err := allUp(ctx, labs)
	if err != nil {
		return Run{}, Node{}, err
	}
	var found []Run
	var names []string
	for _, r := range runs {
		for _, n := range r.Nodes {
			names = append(names, n.Name)
		}
		if r.at(node) >= 0 {
			found = append(found, r)
		}
	}
	switch {
	case len(found) == 0:
		return Run{}, Node{}, fmt.Errorf("no node is called %q in the labs that are up, only %s%s", node, strings.Join(names, ", "), diag.Meant(node, names))
	case len(found) > 1:
		return Run{}, Node{}, fmt.Errorf("%d labs that are up have a node %s, in %s and %s", len(found), node, found[0].Dir, found[1].Dir)
	}
	return found[0], found[0].Nodes[found[0].at(node)], nil
}

func read(file string) (r Run, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return r, err
	}
	r.Dir = filepath.Dir(file)
	return r, json.Unmarshal(data, &r)
}

func (r Run) at(node string) int {
	return slices.IndexFunc(r.Nodes, func(n Node) bool { return n.Name == node })
}

// up knocks at a port that the lab keeps open for as long as it runs.
func (r Run) up(ctx context.Context) bool {
	if len(r.Nodes) == 0 {
		return false
	}
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", r.Nodes[0].SSH)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
