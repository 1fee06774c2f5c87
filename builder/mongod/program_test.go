package mongod

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// buildInfo is how a compiler lays out MongoDB's version.cpp.
const buildInfo = "outputConfig\x00: \x006.0.5\x00tcmalloc\x00mozjs\x001.2.11\x00"

// program is an ELF file with nothing but constants.
func program(machine elf.Machine, constants string) []byte {
	const names = "\x00.rodata\x00.shstrtab\x00"
	at := uint64(64 + len(constants) + len(names))
	b := binary.LittleEndian
	var out bytes.Buffer
	binary.Write(&out, b, elf.Header64{Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: 1, Shoff: at, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2})
	out.WriteString(constants + names)
	binary.Write(&out, b, []elf.Section64{{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: 64, Size: uint64(len(constants))},
		{Name: 9, Type: uint32(elf.SHT_STRTAB), Off: uint64(64 + len(constants)), Size: uint64(len(names))}})
	return out.Bytes()
}

type entry struct {
	name    string
	content []byte
}

func tarball(t *testing.T, compress func(io.Writer) io.WriteCloser, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	packed := compress(&out)
	w := tar.NewWriter(packed)
	for _, e := range entries {
		if err := w.WriteHeader(&tar.Header{Name: e.name, Mode: 0o755, Size: int64(len(e.content))}); err != nil {
			t.Fatal(err)
		}
		w.Write(e.content)
	}
	w.Close()
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type open struct{ io.Writer }

func (open) Close() error { return nil }

func plain(w io.Writer) io.WriteCloser { return open{w} }
func gz(w io.Writer) io.WriteCloser    { return gzip.NewWriter(w) }
func zst(w io.Writer) io.WriteCloser   { z, _ := zstd.NewWriter(w); return z }
func xzip(w io.Writer) io.WriteCloser  { z, _ := xz.NewWriter(w); return z }

func wheelFile(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		w, err := z.Create(e.name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(e.content)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// debFile is a Debian package made by dpkg-deb itself.
func debFile(t *testing.T, entries ...entry) []byte {
	t.Helper()
	dir := t.TempDir()
	lay(t, filepath.Join(dir, "tree/DEBIAN/control"), []byte("Package: m\nVersion: 1\nArchitecture: all\nMaintainer: m <m@example.org>\nDescription: m\n"))
	for _, e := range entries {
		lay(t, filepath.Join(dir, "tree", e.name), e.content)
	}
	out, err := exec.CommandContext(t.Context(), "dpkg-deb", "--build", filepath.Join(dir, "tree"), filepath.Join(dir, "m.deb")).CombinedOutput()
	if err != nil {
		t.Fatalf("dpkg-deb: %v\n%s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, "m.deb"))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// lay writes a file and its folders.
func lay(t *testing.T, file string, content []byte) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
