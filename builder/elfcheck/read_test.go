package elfcheck

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"grove/internal/spec"
)

// header is a whole ELF file without any content.
func header(class elf.Class, data elf.Data, machine elf.Machine, flags uint32) []byte {
	var order binary.AppendByteOrder = binary.LittleEndian
	if data == elf.ELFDATA2MSB {
		order = binary.BigEndian
	}
	b := append([]byte(elf.ELFMAG), byte(class), byte(data), byte(elf.EV_CURRENT))
	b = append(b, make([]byte, elf.EI_NIDENT-len(b))...)
	b = order.AppendUint16(b, uint16(elf.ET_EXEC))
	b = order.AppendUint16(b, uint16(machine))
	b = order.AppendUint32(b, uint32(elf.EV_CURRENT))
	word := 4
	if class == elf.ELFCLASS64 {
		word = 8
	}
	b = append(b, make([]byte, 3*word)...) // entry, program headers, sections: none
	b = order.AppendUint32(b, flags)
	return append(b, make([]byte, 12)...)
}

func TestArch(t *testing.T) {
	le, be := elf.ELFDATA2LSB, elf.ELFDATA2MSB
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"amd64", header(elf.ELFCLASS64, le, elf.EM_X86_64, 0), "amd64"},
		{"arm64", header(elf.ELFCLASS64, le, elf.EM_AARCH64, 0), "arm64"},
		{"armhf", header(elf.ELFCLASS32, le, elf.EM_ARM, 0x5000400), "armhf"},
		{"arm without a mark", header(elf.ELFCLASS32, le, elf.EM_ARM, 0x5000000), "armhf"},
		{"armel", header(elf.ELFCLASS32, le, elf.EM_ARM, 0x5000200), "armel (soft float)"},
		{"i386", header(elf.ELFCLASS32, le, elf.EM_386, 0), "i386"},
		{"x32 is not amd64", header(elf.ELFCLASS32, le, elf.EM_X86_64, 0), "EM_X86_64, ELFCLASS32, ELFDATA2LSB"},
		{"big-endian arm64 is not arm64", header(elf.ELFCLASS64, be, elf.EM_AARCH64, 0), "EM_AARCH64, ELFCLASS64, ELFDATA2MSB"},
	} {
		o, err := Read(bytes.NewReader(c.file))
		if err != nil || o.Arch != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, o.Arch, err, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, content := range map[string]string{"text": "#!/bin/sh\n", "nothing": "", "two bytes": "\x7fE"} {
		if _, err := Read(strings.NewReader(content)); !errors.Is(err, ErrNotELF) {
			t.Errorf("%s: got %v; want ErrNotELF", name, err)
		}
	}
	whole := header(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64, 0)
	if _, err := Read(bytes.NewReader(whole[:30])); err == nil || errors.Is(err, ErrNotELF) {
		t.Errorf("a header cut short: got %v; want a fault that is not ErrNotELF", err)
	}
}

// The test machine's own shell starts, as this test runs; so its tree must be free of findings, and each library that is taken away must be missed.
func TestTheHostsOwnShell(t *testing.T) {
	arch := spec.Arch(runtime.GOARCH)
	tree := Tree{Objects: map[string]Object{}, Links: map[string]string{}}
	add := func(name string) {
		place, err := filepath.EvalSymlinks("/usr/" + name)
		if err == nil {
			err = tree.Add(name, place)
		}
		if err != nil {
			t.Fatalf("take %s of this machine, a Debian one: %v", name, err)
		}
	}
	add("bin/tar") // some libraries of its own, with versions
	shell := tree.Objects["bin/tar"]
	add(inTree(shell.Interp))
	for missing := Missing(tree, arch); len(missing) > 0; missing = Missing(tree, arch) {
		for _, soname := range missing {
			add("lib/" + Multiarch(arch) + "/" + soname)
		}
	}
	nobody := func(string) string { return "" }
	if found := Check(tree, arch, nobody); len(found) > 0 {
		t.Fatalf("findings in a tree that runs:\n%v", found)
	}
	if len(shell.Needed) < 2 || len(shell.Wants) == 0 {
		t.Fatalf("needs only %v with versions %v; the test shows little", shell.Needed, shell.Wants)
	}
	libc := "lib/" + Multiarch(arch) + "/libc.so.6"
	if gives := tree.Objects[libc].Gives; !slices.Contains(gives, "GLIBC_2.34") {
		t.Errorf("libc.so.6 gives %v; want GLIBC_2.34 among them", gives)
	}
	delete(tree.Objects, libc)
	if found := Check(tree, arch, nobody); len(found) != 1 || !strings.Contains(found[0].Text, "needs libc.so.6") {
		t.Errorf("without libc.so.6: got %v", found)
	}
}

func TestScan(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string][]byte{"bin/x": header(elf.ELFCLASS64, elf.ELFDATA2LSB, elf.EM_X86_64, 0), "share/doc/x/copyright": []byte("free")} {
		os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("x", filepath.Join(dir, "bin/y")); err != nil {
		t.Fatal(err)
	}
	tree, err := Scan(dir)
	if err != nil || len(tree.Objects) != 1 || tree.Objects["bin/x"].Arch != "amd64" || tree.Links["bin/y"] != "x" {
		t.Errorf("got %+v, %v; want one object and one link", tree, err)
	}
}
