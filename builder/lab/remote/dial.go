package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// greeting is how long a node may take from the first byte to the log-in; under TCG it computes slowly.
const greeting = 30 * time.Second

// Dial logs in to a node over a connection to its port 22, with the lab's key or, if key is not nil, with another one. The connection is closed when that fails.
func Dial(ctx context.Context, conn net.Conn, dir, node string, key ssh.Signer) (*ssh.Client, error) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	client, err := logIn(conn, dir, node, key)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("log in to %s: %w", node, err)
	}
	return client, nil
}

func logIn(conn net.Conn, dir, node string, key ssh.Signer) (*ssh.Client, error) {
	if key == nil {
		text, err := os.ReadFile(filepath.Join(dir, keyFile))
		if err != nil {
			return nil, err
		}
		if key, err = ssh.ParsePrivateKey(text); err != nil {
			return nil, fmt.Errorf("the lab's key: %w", err)
		}
	}
	_ = conn.SetDeadline(time.Now().Add(greeting))
	config := &ssh.ClientConfig{User: "root", Auth: []ssh.AuthMethod{ssh.PublicKeys(key)}, HostKeyCallback: known(dir, node), HostKeyAlgorithms: []string{ssh.KeyAlgoED25519}}
	c, channels, requests, err := ssh.NewClientConn(conn, node, config)
	if errors.Is(err, io.EOF) { // the lab takes every connection, and closes those that the node does not
		err = fmt.Errorf("nobody answers at its port 22; its console says why: %w", err)
	}
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	return ssh.NewClient(c, channels, requests), nil
}

// known takes the first host key that a node shows, and no other after it.
func known(dir, node string) ssh.HostKeyCallback {
	return func(_ string, _ net.Addr, key ssh.PublicKey) error {
		file := filepath.Join(dir, knownFile)
		shown := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
		text, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if name, was, _ := strings.Cut(strings.TrimSpace(line), " "); name == node {
				if was != shown {
					return fmt.Errorf("its host key is another one than it was: see %s", file)
				}
				return nil
			}
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(f, "%s %s\n", node, shown)
		return errors.Join(err, f.Close())
	}
}

// Command runs one on a node and gives what it printed, both streams as they came, and its exit code; -1 if a signal ended it.
func Command(ctx context.Context, client *ssh.Client, command string) (output string, code int, err error) {
	session, err := client.NewSession()
	if err != nil {
		return "", 0, err
	}
	defer session.Close()
	stop := context.AfterFunc(ctx, func() { client.Close() })
	defer stop()
	var out together
	session.Stdout, session.Stderr = &out, &out
	code, err = ended(session.Run(command))
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out.String(), code, err
}

// ended makes an exit code of how a session ended.
func ended(err error) (code int, _ error) {
	var exit *ssh.ExitError
	switch {
	case errors.As(err, &exit) && exit.Signal() != "":
		return -1, nil
	case errors.As(err, &exit):
		return exit.ExitStatus(), nil
	}
	return 0, err
}

// together takes two streams.
type together struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *together) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.Write(p)
}

func (t *together) String() string { t.mu.Lock(); defer t.mu.Unlock(); return t.text.String() }
