// Package secrets makes what the nodes of one cluster share and nobody else may have: the replica set's key and the operator's login. They are made on the
// operator's machine, kept in a file that only its user can read, and reach a node in its node.yaml; no recipe, image or manifest has them.
package secrets

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"gopkg.in/yaml.v3"

	"grove/internal/diag"
	"grove/internal/load"
	"grove/internal/settings"
	"grove/internal/spec"
)

// keyBytes make 1024 characters of base64, the most that mongod takes (src/mongo/db/auth/security_key.cpp); its manual's own example has as many.
const keyBytes = 768

// passwordBytes make 32 characters and 192 bits: nobody types it, and nobody guesses it.
const passwordBytes = 24

// Make draws new ones. User is the operator's name.
func Make(random io.Reader, user string) (spec.Secrets, error) {
	draw := make([]byte, keyBytes+passwordBytes)
	if _, err := io.ReadFull(random, draw); err != nil {
		return spec.Secrets{}, fmt.Errorf("draw random numbers: %w", err)
	}
	s := spec.Secrets{
		Key:      spec.Secret(base64.StdEncoding.EncodeToString(draw[:keyBytes])),
		Operator: spec.Operator{User: user, Password: spec.Secret(base64.RawURLEncoding.EncodeToString(draw[keyBytes:]))},
	}
	return s, check(s, "").Err()
}

// Write makes a file that only its user can read. One that exists is an error (fs.ErrExist): it may be the only copy of a cluster's key.
func Write(file string, s spec.Secrets) error {
	text, err := yaml.Marshal(s)
	if err != nil {
		return fmt.Errorf("BUG: write secrets: %w", err)
	}
	return Private(file, text)
}

// Private writes a file that is new and readable for its user alone. Nothing is left of one that could not be written whole.
func Private(file string, text []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	return nil
}

// open are the bits of a file's mode that let others at it.
const open fs.FileMode = 0o077

// Read refuses a file that others can read as well. Faults of its content come as diag.Findings, which never repeat it.
func Read(file string) (spec.Secrets, error) {
	info, err := os.Stat(file)
	if err != nil {
		return spec.Secrets{}, err
	}
	if mode := info.Mode().Perm(); mode&open != 0 {
		return spec.Secrets{}, fmt.Errorf("%s has mode %04o, so others of this machine can read the cluster's key; make it `chmod 600 %s`", file, mode, file)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return spec.Secrets{}, err
	}
	var s spec.Secrets
	source, found := load.YAML(file, data, &s)
	for _, f := range check(s, file) {
		found = append(found, source.Finding(f.Key, f.Text))
	}
	return s, found.Err()
}

// check wants them complete.
func check(s spec.Secrets, file string) (found diag.Findings) {
	report := func(key, format string, values ...any) {
		found = append(found, diag.Finding{Place: diag.Place{File: file}, Key: key, Text: fmt.Sprintf(format, values...)})
	}
	settings.CheckSecrets(s, func(key, format string, values ...any) { report(key[len("secrets."):], format, values...) })
	if s.Key == "" {
		report("key", "is missing")
	}
	if s.Operator.User == "" {
		report("operator", "is missing")
	}
	return found
}
