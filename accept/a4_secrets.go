package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"grove/builder/secrets"
)

// noSecrets looks for the key, the operator's password and the agent's, which follows from the key, wherever they could have come to.
func noSecrets(ctx context.Context, b *bench) (figure string, err error) {
	l, err := b.setOf(ctx, 3, nil)
	if err != nil {
		return "", err
	}
	defer func() { err = blamed(err, l.Dir()) }()
	defer l.Close(context.WithoutCancel(ctx))
	s, err := secrets.Read(l.Secrets())
	if err != nil {
		return "", err
	}
	mac := hmac.New(sha256.New, []byte(s.Key))
	mac.Write([]byte("grove-agent"))
	hidden := map[string]string{"key": string(s.Key)[:60], "operator's password": string(s.Operator.Password), "agent's password": base64.RawURLEncoding.EncodeToString(mac.Sum(nil))}
	places := 0
	look := func(place string, text io.Reader) error {
		places++
		return absent(place, text, hidden)
	}
	files, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(l.Dir())), "demo.*"))
	if err != nil || len(files) < 4 {
		return "", fmt.Errorf("the image's files are %v, %w", files, err)
	}
	for _, n := range l.Nodes() {
		files = append(files, n.Serial, fmt.Sprintf("/proc/%d/cmdline", n.PID), fmt.Sprintf("/proc/%d/environ", n.PID))
	}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return "", err
		}
		err = look(file, f)
		f.Close()
		if err != nil {
			return "", err
		}
	}
	for _, n := range l.Nodes() {
		for _, path := range []string{"/", "/status.json", "/metrics"} {
			r, err := http.Get("http://" + n.Page + path)
			if err != nil {
				return "", err
			}
			err = look(n.Name+path, r.Body)
			r.Body.Close()
			if err != nil {
				return "", err
			}
		}
		for _, command := range []string{"cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ", "cat /state/mongod/log/*", "cat /run/grove/*.conf /run/grove/*.json /run/grove/*.out", "dmesg", "ls -lR /run/grove /state/grove", "cat /state/grove/*.json"} {
			out, _, err := l.SSH(ctx, n.Name, command)
			if err == nil {
				err = look(n.Name+": "+command, strings.NewReader(out))
			}
			if err != nil {
				return "", err
			}
		}
	}
	if err := absent("the secrets' own file", must(os.Open(l.Secrets())), hidden); err == nil {
		return "", errors.New("BUG: the search does not find what is there")
	}
	for _, file := range []string{l.Secrets(), filepath.Join(l.Dir(), "db1.node.yaml")} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			return "", fmt.Errorf("%s has mode %v, %w", file, info.Mode(), err)
		}
	}
	return fmt.Sprintf("%d places looked at", places), nil
}

func must(f *os.File, err error) io.Reader {
	if err != nil {
		return strings.NewReader("")
	}
	return f
}

// absent reads in pieces that overlap by more than a secret's length.
func absent(place string, text io.Reader, hidden map[string]string) error {
	r := bufio.NewReaderSize(text, 1<<20)
	var piece []byte
	for {
		more := make([]byte, 1<<20)
		n, err := io.ReadFull(r, more)
		piece = append(piece[max(0, len(piece)-128):], more[:n]...)
		for name, secret := range hidden {
			if bytes.Contains(piece, []byte(secret)) {
				return fmt.Errorf("%s has the %s", place, name)
			}
		}
		if err != nil {
			return nil // its end, or a process that is gone
		}
	}
}
