package main

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/builder/lab"
)

// a3Access: who gets in, by which port, and with which key.
func a3Access() []check {
	return []check{
		{name: "a3.3", says: "of all ports of a node only the opened ones answer a neighbour, and none answers beyond the cluster's networks; mongod's connections are not tracked", within: 15 * time.Minute, run: swept},
		{name: "a3.6.key", says: "a public key that is none is refused at build, and on the node's console and page, which stays up", within: 6 * time.Minute, beside: true, run: badKey},
		{name: "a3.access", says: "SSH with the operator's key: exit codes, terminal, no password, the same host key after a restart, nothing left by an agent that is killed", within: 12 * time.Minute, run: access},
		{name: "a3.access.none", says: "a node without a key is closed", within: 6 * time.Minute, beside: true, run: closed},
	}
}

func badKey(ctx context.Context, b *bench) (string, error) {
	file, err := b.recipe("console: {login: shell}", "ssh: {keys: [ssh-ed25519 AAAAnonsense ann]}\nconsole: {login: shell}")
	if err != nil {
		return "", err
	}
	if err := b.run(ctx, nil, "check", file).wants(3, "ssh.keys[0]: want a public key such as ssh-ed25519 AAAA... name"); err != nil {
		return "", err
	}
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	c.Nodes[0].SSH.Keys, c.NoKey = []string{"ssh-rsa nonsense"}, true
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		sentence, err := r.problem(ctx, "node.yaml is refused", "ssh.keys[0]: want a public key")
		if err == nil {
			err = r.heard("node: node.yaml is refused")
		}
		if err == nil {
			err = r.heard("ssh: no key is named, so nobody can log in: port 22 is closed")
		}
		return sentence, err
	})
}

func closed(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	c.NoKey = true
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		answers, err := r.lab.Sweep(ctx, neighbour, "db1", []int{22, 27017})
		if err == nil && fmt.Sprint(answers) != "{[27017] []}" {
			err = fmt.Errorf("open and refused are %v; want mongod's port and nothing else", answers)
		}
		if err == nil {
			err = r.heard("ssh: no key is named, so nobody can log in: port 22 is closed")
		}
		return "port 22 is silent", err
	})
}

// access has a node of a name of its own: the grove command finds the lab by it.
func access(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	c.Nodes[0].Hostname = "gate1"
	return inLab(ctx, c, "gate1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		for _, look := range []func(context.Context) error{
			func(ctx context.Context) error { return commands(ctx, b, r.lab) },
			r.terminal, r.strangers, r.killedAgent,
		} {
			if err := look(ctx); err != nil {
				return "", err
			}
		}
		before, err := r.fingerprint(ctx)
		if err == nil {
			err = r.again(ctx)
		}
		if err == nil {
			err = r.lab.Wait(ctx)
		}
		if err != nil {
			return "", err
		}
		after, err := r.fingerprint(ctx)
		if err == nil && after != before {
			err = fmt.Errorf("the host key was %s, after a restart it is %s", before, after)
		}
		return "host key " + after, err
	})
}

// fingerprint logs in, which another host key than the first would make fail, and reads the node's own word.
func (r *rig) fingerprint(ctx context.Context) (string, error) {
	out, code, err := r.lab.SSH(ctx, r.node, "grep fingerprint /run/grove/status.json")
	if err != nil || code != 0 {
		return "", fmt.Errorf("exit code %d: %w: %s", code, err, out)
	}
	return strings.Trim(strings.TrimSpace(strings.Split(out, "\n")[0]), ","), nil
}

func commands(ctx context.Context, b *bench, l *lab.Lab) error {
	out, code, err := l.SSH(ctx, "gate1", "echo out; echo err >&2; exit 7")
	if err != nil || code != 7 || !strings.Contains(out, "out") || !strings.Contains(out, "err") {
		return fmt.Errorf("exit 7: got %q, code %d, %w", out, code, err)
	}
	if err := b.run(ctx, nil, "lab", "ssh", "-o", b.dir, "gate1", "--", "hostname; exit 9").wants(9, "gate1"); err != nil {
		return err
	}
	if err := b.run(ctx, nil, "lab", "ssh", "-o", b.dir, "gate2", "true").wants(2, `no node is called "gate2"`, "gate1"); err != nil {
		return err
	}
	return b.run(ctx, nil, "lab", "ssh", "-o", b.folder("none"), "gate1").wants(2, "no lab is up in ")
}

// terminal has a shell at one, whose window is the client's.
func (r *rig) terminal(ctx context.Context) error {
	client, err := r.lab.LogIn(ctx, r.node, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close()
	if err := session.RequestPty("xterm", 33, 77, ssh.TerminalModes{}); err != nil {
		return err
	}
	var out strings.Builder
	session.Stdin, session.Stdout = strings.NewReader("readlink /proc/self/fd/0; stty\n"), &out
	if err = session.Shell(); err == nil {
		err = session.Wait()
	}
	for _, words := range []string{"/dev/pts/", "rows:33", "cols:77"} {
		if err != nil || !strings.Contains(out.String(), words) {
			return fmt.Errorf("a shell at a terminal of 33 rows and 77 columns: %w: %s", err, out.String())
		}
	}
	return nil
}

// strangers have another key, another name, or a password.
func (r *rig) strangers(ctx context.Context) error {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return err
	}
	other, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return err
	}
	if client, err := r.lab.LogIn(ctx, r.node, other); err == nil {
		client.Close()
		return errors.New("another key opens the node")
	} else if !strings.Contains(err.Error(), "unable to authenticate") {
		return err
	}
	asked := false
	password := ssh.PasswordCallback(func() (string, error) { asked = true; return "", nil })
	questions := ssh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { asked = true; return nil, nil })
	client, err := ssh.Dial("tcp", r.lab.Nodes()[0].SSH, &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{password, questions}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute})
	if err == nil {
		client.Close()
	}
	if err == nil || asked {
		return fmt.Errorf("without a key: %w, asked for a password: %v", err, asked)
	}
	_, err = r.tells(ctx, "ssh: [^\n]*refused[^\n]*the key "+regexp.QuoteMeta(ssh.FingerprintSHA256(other.PublicKey()))+" is not one of the operator's")
	return err
}

// killedAgent leaves a session behind, with a program in it.
func (r *rig) killedAgent(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.lab.SSH(ctx, r.node, "sleep 12345; echo over")
		ended <- err
	}()
	if err := r.sleeps(ctx, true); err != nil {
		return err
	}
	if _, err := r.sh(ctx, "kill -9 $(cat /run/grove/agent.pid)"); err != nil {
		return err
	}
	select {
	case err := <-ended:
		if err == nil {
			return errors.New("a session outlives the agent")
		}
	case <-time.After(time.Minute):
		return errors.New("a session does not end with the agent")
	}
	return r.sleeps(ctx, false)
}

// sleeps waits until the program of a session is there, or is gone.
func (r *rig) sleeps(ctx context.Context, wanted bool) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		out, code, err := r.lab.SSH(ctx, r.node, "pidof sleep || echo none")
		if err == nil && code == 0 && (strings.TrimSpace(out) != "none") == wanted {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return fmt.Errorf("that a program of a session runs is not %v: %s, code %d, %w", wanted, out, code, err)
		}
	}
}
