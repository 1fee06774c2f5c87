package sshd

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
)

// Key is an operator's.
type Key struct {
	Public  ssh.PublicKey
	Comment string
	From    string // what named it: settings, EC2
}

// Fingerprint is the key as ssh-keygen -l shows it.
func (k Key) Fingerprint() string { return ssh.FingerprintSHA256(k.Public) }

// Read takes keys as authorized_keys has them. Options are not known, and a key with any opens nothing: they are there to narrow what it may do.
func Read(from string, lines []string) (keys []Key, err error) {
	for _, line := range lines {
		public, comment, options, _, why := ssh.ParseAuthorizedKey([]byte(line))
		if why == nil && len(options) > 0 {
			why = errors.New("it has options")
		}
		if why != nil {
			err = errors.Join(err, fmt.Errorf("key of %s, %.40q: %w", from, line, why))
			continue
		}
		keys = append(keys, Key{public, comment, from})
	}
	return keys, err
}

// keyFile is named as OpenSSH's, and holds the same.
const keyFile = "ssh_host_ed25519_key"

// HostKey gives the node's own key that is kept in a folder, and makes one there if there is none. A file that holds something else is an error, and left alone.
func HostKey(folder string) (key ssh.Signer, made bool, err error) {
	file := filepath.Join(folder, keyFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = newKey()
		if made = true; err == nil {
			err = keep(file, text)
		}
	}
	if err != nil {
		return nil, false, fmt.Errorf("host key: %w", err)
	}
	if key, err = ssh.ParsePrivateKey(text); err != nil {
		return nil, false, fmt.Errorf("host key %s: %w", file, err)
	}
	return key, made, nil
}

func newKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(block), nil
}

// keep writes a file for root alone that is there whole after a loss of power, or not at all.
func keep(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(file+".new", file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
