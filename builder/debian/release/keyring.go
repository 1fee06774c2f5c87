package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	pgp "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Keyring is the public keys that may sign.
type Keyring struct {
	keys  openpgp.EntityList
	files []string
}

// Keys reads keyring files, binary or armored. Keys of a kind that is not understood are left out.
func Keys(files []string) (Keyring, error) {
	ring := Keyring{files: files}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return ring, fmt.Errorf("read the keyring: %w", err)
		}
		read := openpgp.ReadKeyRing
		if bytes.HasPrefix(bytes.TrimSpace(data), []byte("-----BEGIN")) {
			read = openpgp.ReadArmoredKeyRing
		}
		keys, err := read(bytes.NewReader(data))
		if err != nil {
			return ring, fmt.Errorf("read the keyring %s: %w", file, err)
		}
		ring.keys = append(ring.keys, keys...)
	}
	return ring, nil
}

// verify looks for one valid signature. A key that has expired since it signed still counts, since an old suite stays on the mirrors after its keys' end; its
// name is returned for a warning. A revoked key never counts.
func (k Keyring) verify(block *clearsign.Block) (oldKey string, err error) {
	signatures, err := io.ReadAll(block.ArmoredSignature.Body)
	if err != nil {
		return "", fmt.Errorf("%w: its armor is damaged: %w", ErrSignature, err)
	}
	expired, fault := "", error(nil)
	for _, key := range k.keys {
		err := check(key, block.Bytes, signatures, nil)
		if err == nil {
			return "", nil
		}
		if errors.Is(err, pgp.ErrKeyExpired) && check(key, block.Bytes, signatures, signedAt(signatures, key)) == nil {
			expired = name(key)
		} else if !errors.Is(err, pgp.ErrUnknownIssuer) {
			fault = fmt.Errorf("key %s: %w", name(key), err)
		}
	}
	switch {
	case expired != "":
		return expired, nil
	case fault != nil:
		return "", fmt.Errorf("%w: %w", ErrSignature, fault)
	}
	return "", fmt.Errorf("%w: signed by %s, none of which is in %s", ErrSignature, strings.Join(issuers(signatures), " and "), strings.Join(k.files, ", "))
}

func check(key *openpgp.Entity, text, signatures []byte, now func() time.Time) error {
	_, err := openpgp.CheckDetachedSignature(openpgp.EntityList{key}, bytes.NewReader(text), bytes.NewReader(signatures), &packet.Config{Time: now})
	return err
}

func name(key *openpgp.Entity) string {
	if id := key.PrimaryIdentity(); id != nil {
		return fmt.Sprintf("%X (%s)", key.PrimaryKey.KeyId, id.Name)
	}
	return fmt.Sprintf("%X", key.PrimaryKey.KeyId)
}

// each calls see for every signature packet.
func each(signatures []byte, see func(*packet.Signature)) {
	for packets := packet.NewReader(bytes.NewReader(signatures)); ; {
		p, err := packets.Next()
		if err != nil {
			return
		}
		if s, is := p.(*packet.Signature); is && s.IssuerKeyId != nil {
			see(s)
		}
	}
}

// signedAt is the clock at the moment when the key signed.
func signedAt(signatures []byte, key *openpgp.Entity) func() time.Time {
	var at time.Time
	each(signatures, func(s *packet.Signature) {
		if len(openpgp.EntityList{key}.KeysById(*s.IssuerKeyId)) > 0 {
			at = s.CreationTime
		}
	})
	return func() time.Time { return at }
}

func issuers(signatures []byte) []string {
	found := []string{}
	each(signatures, func(s *packet.Signature) { found = append(found, fmt.Sprintf("%X", *s.IssuerKeyId)) })
	if len(found) == 0 {
		return []string{"no key"}
	}
	return found
}
