package release

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

const text = `Origin: Grove
Suite: stable
Codename: trixie
Date: Sat, 21 Nov 2026 09:15:44 UTC
Valid-Until: Sat, 28 Nov 2026 09:15:44 +0000
Acquire-By-Hash: yes
MD5Sum:
 3e498904a30e240573dac8ddac594e6f  11 main/binary-amd64/Packages.gz
SHA256:
 4967137e99422deb3b08e4eab8d6e756abfc826ef2c3744f50c1ab8ed053bf7e 13335627 main/binary-amd64/Packages.gz
`

func TestARealFormIsRead(t *testing.T) {
	key := newKey(t, nil)
	r, err := Read(sign(t, text, nil, key), ring(t, true, key))
	if err != nil {
		t.Fatal(err)
	}
	if r.Suite != "stable" || r.Codename != "trixie" || !r.ByHash || r.OldKey != "" {
		t.Errorf("got %+v", r)
	}
	if want := time.Date(2026, 11, 28, 9, 15, 44, 0, time.UTC); !r.ValidUntil.Equal(want) {
		t.Errorf("valid until: got %s, want %s", r.ValidUntil, want)
	}
	want := File{"4967137e99422deb3b08e4eab8d6e756abfc826ef2c3744f50c1ab8ed053bf7e", 13335627}
	if got := r.Files["main/binary-amd64/Packages.gz"]; got != want || len(r.Files) != 1 {
		t.Errorf("files: got %+v", r.Files)
	}
	if !r.Is("trixie") || !r.Is("stable") || r.Is("bookworm") {
		t.Error("the release goes by the wrong names")
	}
}

func TestSignatures(t *testing.T) {
	known, other, stranger := newKey(t, nil), newKey(t, nil), newKey(t, nil)
	longAgo := func() time.Time { return time.Now().AddDate(-3, 0, 0) }
	expired := newKey(t, &packet.Config{Time: longAgo, KeyLifetimeSecs: 3600 * 24 * 365})
	revoked := newKey(t, nil)
	if err := revoked.RevokeKey(packet.KeyCompromised, "lost", nil); err != nil {
		t.Fatal(err)
	}
	then := &packet.Config{Time: func() time.Time { return longAgo().AddDate(0, 6, 0) }}
	rows := []struct {
		name string
		text []byte
		want string // in the error; "" is none
		old  bool
	}{
		{"one of the keyring's keys", sign(t, text, nil, known), "", false},
		{"two keys, of which one is known", sign(t, text, nil, stranger, other), "", false},
		{"a key that expired after it signed", sign(t, text, then, expired), "", true},
		{"an expired and a valid key", sign(t, text, nil, expired, known), "", false},
		{"an unknown key", sign(t, text, nil, stranger), "none of which is in", false},
		{"a revoked key", sign(t, text, nil, revoked), "revoked", false},
		{"a known key over another text", bytes.Replace(sign(t, text, nil, known), []byte("trixie"), []byte("trixiE"), 1), "invalid signature", false},
		{"nobody", []byte(text), "the file is not signed", false},
		{"a signature cut short", sign(t, text, nil, known)[:len(text)+120], "signature does not match", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			r, err := Read(row.text, ring(t, false, known, other, expired, revoked))
			switch {
			case row.want == "" && err != nil:
				t.Error(err)
			case row.want == "" && (r.OldKey != "") != row.old:
				t.Errorf("old key: got %q", r.OldKey)
			case row.want != "" && (!errors.Is(err, ErrSignature) || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestOnlyTheSignedPartCounts(t *testing.T) {
	key := newKey(t, nil)
	r, err := Read(append([]byte("Codename: evil\n\n"), append(sign(t, text, nil, key), "Codename: evil\n"...)...), ring(t, true, key))
	if err != nil || r.Codename != "trixie" {
		t.Errorf("got %+v, %v", r, err)
	}
}

func TestFaultyReleases(t *testing.T) {
	key := newKey(t, nil)
	for name, row := range map[string]struct{ text, want string }{
		"no hashes":       {"Suite: stable\n", "lists no SHA256"},
		"a short line":    {"SHA256:\n abc 1\n", "want a hash, a size and a path"},
		"a size in words": {"SHA256:\n " + strings.Repeat("a", 64) + " big Packages\n", "size of Packages"},
		"a strange date":  {"Date: tomorrow\n", "Date of the release"},
	} {
		if _, err := Read(sign(t, row.text, nil, key), ring(t, true, key)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v, want %q", name, err, row.want)
		}
	}
}

func newKey(t *testing.T, c *packet.Config) *openpgp.Entity {
	t.Helper()
	if c == nil {
		c = &packet.Config{Time: func() time.Time { return time.Now().AddDate(-1, 0, 0) }}
	}
	c.Algorithm = packet.PubKeyAlgoEdDSA
	key, err := openpgp.NewEntity("Archive", "", "archive@example.org", c)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t *testing.T, text string, c *packet.Config, keys ...*openpgp.Entity) []byte {
	t.Helper()
	var private []*packet.PrivateKey
	for _, key := range keys {
		private = append(private, key.PrivateKey)
	}
	var signed bytes.Buffer
	w, err := clearsign.EncodeMulti(&signed, private, c)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return signed.Bytes()
}

// ring writes a keyring file, binary or armored, and reads it.
func ring(t *testing.T, armored bool, keys ...*openpgp.Entity) Keyring {
	t.Helper()
	var plain bytes.Buffer
	for _, key := range keys {
		if err := key.Serialize(&plain); err != nil {
			t.Fatal(err)
		}
	}
	data := plain.Bytes()
	if armored {
		var text bytes.Buffer
		w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = text.Bytes()
	}
	file := filepath.Join(t.TempDir(), "keyring.gpg")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := Keys([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	return k
}
