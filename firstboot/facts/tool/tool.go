// Package tool asks blkid and wipefs of the payload what is on a device. Neither is let write: blkid probes, wipefs is told to do nothing.
//
// Each takes 60 to 180 ms in a node under TCG, so they are asked only about what nobody else understands.
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"grove/internal/host"
)

// blkid's exit codes with -p (blkid(8)). 2 is also that of a device that it cannot open, and version 2.38 says not a word then: wipefs does, and so both are asked.
const (
	blkidNothing    = 2
	blkidAmbivalent = 8
)

// Blkid is what it says of a device; all empty is nothing known.
type Blkid struct {
	Type, UUID, Label string
	Table, TableID    string // PTTYPE and PTUUID
	Ambivalent        bool   // it found several that exclude each other, and names none
}

// Probe asks blkid for its low-level probe, which reads the device and no cache.
func Probe(ctx context.Context, machine host.Machine, dev string) (Blkid, error) {
	out, code, err := run(ctx, machine, "/usr/sbin/blkid", "-p", "-o", "export", dev)
	switch {
	case err != nil:
		return Blkid{}, err
	case code == blkidNothing:
		return Blkid{}, nil
	case code == blkidAmbivalent:
		return Blkid{Ambivalent: true}, nil
	case code != 0:
		return Blkid{}, fmt.Errorf("blkid -p %s: exit code %d", dev, code)
	}
	return parseBlkid(out), nil
}

// parseBlkid reads `KEY=value` lines, in which what a shell would take for its own has a backslash before it.
func parseBlkid(out []byte) Blkid {
	fields := map[string]string{}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		var b strings.Builder
		for i := 0; i < len(value); i++ {
			if value[i] == '\\' && i+1 < len(value) {
				i++
			}
			b.WriteByte(value[i])
		}
		fields[key] = b.String()
	}
	return Blkid{Type: fields["TYPE"], UUID: fields["UUID"], Label: fields["LABEL"], Table: fields["PTTYPE"], TableID: fields["PTUUID"]}
}

// Signatures lists all that wipefs finds, also those that are hidden behind another: `ext4 at 0x438`.
func Signatures(ctx context.Context, machine host.Machine, dev string) ([]string, error) {
	out, code, err := run(ctx, machine, "/usr/sbin/wipefs", "--no-act", "--json", dev)
	if err == nil && code != 0 {
		err = fmt.Errorf("wipefs --no-act %s: exit code %d", dev, code)
	}
	if err != nil {
		return nil, err
	}
	return parseWipefs(out)
}

// parseWipefs reads {"signatures": [{"device": "vdc", "offset": "0x438", "type": "ext4", ...}]}; of a device without any, older versions print nothing at all.
func parseWipefs(out []byte) (signatures []string, err error) {
	if len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	var list struct {
		Signatures []struct{ Offset, Type string }
	}
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("read what wipefs says: %w", err)
	}
	for _, s := range list.Signatures {
		signatures = append(signatures, s.Type+" at "+s.Offset)
	}
	return signatures, nil
}

// run runs a program of the payload. A code that it ends with is an answer; a word on standard error is a fault, whatever the code, but for blkid's
// on a result that is ambivalent.
func run(ctx context.Context, machine host.Machine, path string, args ...string) (out []byte, code int, err error) {
	var said bytes.Buffer
	out, err = machine.Run(ctx, host.Command{Path: path, Args: args, Env: []string{"LC_ALL=C"}, Stderr: &said})
	var exit *host.Exit
	if errors.As(err, &exit) {
		code, err = exit.Code, nil
	}
	if text := strings.TrimSpace(said.String()); err == nil && text != "" && code != blkidAmbivalent {
		err = fmt.Errorf("%s: %s", filepath.Base(path), text)
	}
	return out, code, err
}
