package secrets

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSecretsAreNewEachTimeAndComeBackFromTheirFile(t *testing.T) {
	s, err := Make(rand.Reader, "admin")
	if err != nil {
		t.Fatal(err)
	}
	if key, err := base64.StdEncoding.DecodeString(string(s.Key)); err != nil || len(key) != 768 || len(s.Key) != 1024 || len(s.Operator.Password) != 32 {
		t.Errorf("got a key of %d characters (%v), a password of %d", len(s.Key), err, len(s.Operator.Password))
	}
	other, err := Make(rand.Reader, "admin")
	if err != nil || other.Key == s.Key || other.Operator.Password == s.Operator.Password {
		t.Errorf("the second is as the first (%v)", err)
	}
	file := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := Write(file, s); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v; want 0600", info.Mode(), err)
	}
	got, err := Read(file)
	if err != nil || got != s {
		t.Errorf("read back: %v, the same: %v", err, got == s)
	}
	if err := Write(file, other); !errors.Is(err, fs.ErrExist) {
		t.Errorf("over one that exists: got %v; want %v", err, fs.ErrExist)
	}
	if said := fmt.Sprintf("%v %+v %#v %s", s, s, s, s.Key); strings.Contains(said, string(s.Key)) || strings.Contains(said, string(s.Operator.Password)) {
		t.Error("it prints its secrets")
	}
}

func TestSecretsThatWillNotDo(t *testing.T) {
	for _, c := range []struct {
		name, text string
		mode       fs.FileMode
		want       string
	}{
		{"others may read it", "key: aGVsbG8h\n", 0o640, "has mode 0640, so others of this machine can read the cluster's key; make it `chmod 600 "},
		{"the key is no base64", "key: hunter2!\noperator: {user: admin, password: hunter22}\n", 0o600, "1:6: key: want 6 to 1024 characters of base64, as `grove node secrets` makes them, have 8 characters"},
		{"no key", "operator: {user: admin, password: hunter22}\n", 0o600, ": key: is missing"},
		{"no operator", "key: aGVsbG8h\n", 0o600, ": operator: is missing"},
		{"the password is short", "key: aGVsbG8h\noperator: {user: admin, password: hunter2}\n", 0o600, "2:35: operator.password: want at least 8 characters"},
		{"a key unknown here", "key: aGVsbG8h\noperater: hunter22\n", 0o600, `operater: unknown key; did you mean "operator"?`},
		{"the agent's own name", "key: aGVsbG8h\noperator: {user: grove-agent, password: hunter22}\n", 0o600, "operator.user: want a name such as admin, other than grove-agent"},
	} {
		file := filepath.Join(t.TempDir(), "cluster.yaml")
		if err := os.WriteFile(file, []byte(c.text), c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := Read(file)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v; want %s", c.name, err, c.want)
		}
	}
}

func TestNothingHalfWrittenIsLeft(t *testing.T) {
	if _, err := Make(strings.NewReader("not enough"), "admin"); err == nil {
		t.Error("random numbers that end: got no error")
	}
	if _, err := Make(rand.Reader, "a b"); err == nil {
		t.Error("a user's name with a space: got no error")
	}
	if err := Private("/dev/full/x", nil); err == nil {
		t.Error("no such folder: got no error")
	}
}
