package kernel

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ulikunitz/xz"

	"grove/builder/cache"
	"grove/builder/debian/debiantest"
	"grove/internal/host"
	"grove/internal/spec"
)

// ko is the smallest file that debug/elf takes for a module: a header, the section .modinfo and the names of sections.
func ko(t *testing.T, info ...string) []byte {
	t.Helper()
	modinfo := []byte(strings.Join(info, "\x00") + "\x00")
	names := []byte("\x00.modinfo\x00.shstrtab\x00")
	body := uint64(64 + len(modinfo) + len(names))
	var b bytes.Buffer
	for _, part := range []any{
		elf.Header64{
			Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
			Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64, Shentsize: 64, Shnum: 3, Shstrndx: 2, Shoff: body,
		},
		modinfo, names, elf.Section64{},
		elf.Section64{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: 64, Size: uint64(len(modinfo))},
		elf.Section64{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: 64 + uint64(len(modinfo)), Size: uint64(len(names))},
	} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func packed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xz.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(data)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// packages are both of Debian's forms, with the same content.
func packages(t *testing.T) map[string]map[string][]byte {
	blk, rng := ko(t, "license=GPL", "alias=virtio:d00000002v*", "depends=virtio-ring"), ko(t, "depends=")
	builtin := []byte("kernel/fs/ext4/ext4.ko\nkernel/crypto/crc32c_generic.ko\n")
	info := []byte("ext4.license=GPL\x00crc32c_generic.alias=crc32c\x00")
	return map[string]map[string][]byte{
		"bookworm": {
			"boot/vmlinuz-6.1.0":                              []byte("kernel"),
			"boot/config-6.1.0":                               []byte("not wanted"),
			"lib/modules/6.1.0/modules.builtin":               builtin,
			"lib/modules/6.1.0/modules.builtin.modinfo":       info,
			"lib/modules/6.1.0/kernel/drivers/virtio_blk.ko":  blk,
			"lib/modules/6.1.0/kernel/drivers/virtio-ring.ko": rng,
		},
		"trixie": {
			"boot/vmlinuz-6.1.0":                                     []byte("kernel"),
			"usr/lib/modules/6.1.0/modules.builtin":                  builtin,
			"usr/lib/modules/6.1.0/modules.builtin.modinfo":          info,
			"usr/lib/modules/6.1.0/kernel/drivers/virtio_blk.ko.xz":  packed(t, blk),
			"usr/lib/modules/6.1.0/kernel/drivers/virtio-ring.ko.xz": packed(t, rng),
		},
	}
}

func request(t *testing.T, files map[string][]byte) Request {
	p := debiantest.Package{Name: "linux", Version: "1", Arch: "amd64", Files: map[string]string{}}
	for name, data := range files {
		p.Files[name] = string(data)
	}
	file := filepath.Join(t.TempDir(), "linux.deb")
	if err := os.WriteFile(file, debiantest.New(t).Deb(p), 0o644); err != nil {
		t.Fatal(err)
	}
	return Request{Image: "demo", Deb: file, SHA256: "abc", Boot: []string{"virtio_ring", "ext4", "crc32c"}, System: []string{"virtio_blk"}}
}

func TestBuildGivesTheSameOfBothSuites(t *testing.T) {
	for suite, files := range packages(t) {
		t.Run(suite, func(t *testing.T) {
			c, err := cache.Open(t.TempDir(), host.Real{})
			if err != nil {
				t.Fatal(err)
			}
			r := request(t, files)
			k, out, err := Build(t.Context(), c, r)
			if err != nil {
				t.Fatal(err)
			}
			if k.Release != "6.1.0" || out.Reused {
				t.Errorf("got release %q, reused %v", k.Release, out.Reused)
			}
			if got, err := os.ReadFile(k.Vmlinuz); err != nil || string(got) != "kernel" {
				t.Errorf("vmlinuz: got %q, %v", got, err)
			}
			want := spec.Modules{Kernel: "6.1.0", Load: []string{}, Modules: map[string]spec.Module{
				"virtio_blk": {File: "/usr/lib/modules/virtio_blk.ko", Needs: []string{"virtio_ring"}, Alias: []string{"virtio:d00000002v*"}},
			}}
			if diff := cmp.Diff(want, index(t, filepath.Join(k.System, "lib/modules/index.json"))); diff != "" {
				t.Errorf("system's index (-want +got):\n%s", diff)
			}
			want = spec.Modules{Kernel: "6.1.0", Load: []string{"virtio_ring"}, Modules: map[string]spec.Module{
				"virtio_ring": {File: "/modules/virtio_ring.ko", Needs: []string{}, Alias: []string{}},
			}}
			if diff := cmp.Diff(want, index(t, filepath.Join(k.Boot, "index.json"))); diff != "" {
				t.Errorf("initramfs' index (-want +got):\n%s", diff)
			}
			got, err := os.ReadFile(filepath.Join(k.System, "lib/modules/virtio_blk.ko"))
			if err != nil || !bytes.Equal(got, ko(t, "license=GPL", "alias=virtio:d00000002v*", "depends=virtio-ring")) {
				t.Errorf("virtio_blk.ko: got %d bytes that differ from the package's, %v", len(got), err)
			}
			if err := os.Remove(r.Deb); err != nil {
				t.Fatal(err)
			}
			if again, out, err := Build(t.Context(), c, r); err != nil || !out.Reused || again != k {
				t.Errorf("second build: got %+v, %+v, %v; want the first's, without a look into the package", again, out, err)
			}
		})
	}
}

func index(t *testing.T, file string) spec.Modules {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var m spec.Modules
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestBuildKeepsNothingOfAFault(t *testing.T) {
	for name, files := range map[string]map[string][]byte{
		"take the kernel out of linux.deb: have 0 files boot/vmlinuz-*, want 1; is it a kernel package?": {"usr/lib/modules/6.1.0/modules.builtin": nil},
		"read .modinfo of the module virtio_ring: ": {
			"boot/vmlinuz-6.1.0": nil, "lib/modules/6.1.0/modules.builtin": nil, "lib/modules/6.1.0/modules.builtin.modinfo": nil,
			"lib/modules/6.1.0/virtio_ring.ko": []byte("not ELF"),
		},
		"unpack the module virtio_ring: ": {
			"boot/vmlinuz-6.1.0": nil, "lib/modules/6.1.0/modules.builtin": nil, "lib/modules/6.1.0/modules.builtin.modinfo": nil,
			"lib/modules/6.1.0/virtio_ring.ko.xz": packed(t, ko(t, "a=b"))[:100],
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			c, err := cache.Open(dir, host.Real{})
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = Build(t.Context(), c, request(t, files))
			if err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v; want %s", err, name)
			}
			for _, sub := range []string{"parts/kernel", "tmp"} {
				if left, _ := os.ReadDir(filepath.Join(dir, sub)); len(left) > 0 {
					t.Errorf("left behind in %s: %v", sub, left)
				}
			}
		})
	}
}

func TestBefore(t *testing.T) {
	for softdep, want := range map[string][]string{
		"pre: crc32c":               {"crc32c"},
		"pre: a-b c post: d pre: e": {"a_b", "c", "e"},
		"post: uas":                 nil,
	} {
		if diff := cmp.Diff(want, before(softdep)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", softdep, diff)
		}
	}
}
