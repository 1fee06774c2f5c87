package sshd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

func TestHostKeyIsMadeOnce(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state", "grove")
	first, made, err := HostKey(folder)
	if err != nil || !made {
		t.Fatalf("got made %v, %v", made, err)
	}
	again, made, err := HostKey(folder)
	if err != nil || made || !bytes.Equal(first.PublicKey().Marshal(), again.PublicKey().Marshal()) {
		t.Errorf("the second time: made %v, %v, another key", made, err)
	}
	info, err := os.Stat(filepath.Join(folder, keyFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v; want it for root alone", info.Mode(), err)
	}
	if left, _ := filepath.Glob(folder + "/*.new"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestHostKeyThatIsNoneIsLeftAlone(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, keyFile)
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := HostKey(folder); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "precious" {
		t.Errorf("it holds %q now", text)
	}
}

// Power is lost while the first key is written: what there is of it does not count.
func TestHalfAHostKeyDoesNotCount(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, keyFile+".new"), []byte("-----BEGIN OPENSSH PRIV"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, made, err := HostKey(folder); !made || err != nil {
		t.Errorf("got made %v, %v", made, err)
	}
}

func TestKeysOfAList(t *testing.T) {
	good := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(signerOther.PublicKey())))
	keys, err := Read("settings", []string{good + " ann@desk", `from="192.0.2.1" ` + good, "ssh-ed25519 AAAA bob", good})
	if len(keys) != 2 || keys[0].Comment != "ann@desk" || keys[0].From != "settings" || keys[1].Fingerprint() != ssh.FingerprintSHA256(signerOther.PublicKey()) {
		t.Errorf("got %+v", keys)
	}
	if err == nil || !strings.Contains(err.Error(), "it has options") || !strings.Contains(err.Error(), "AAAA bob") {
		t.Errorf("got %v; want both bad ones named", err)
	}
}
