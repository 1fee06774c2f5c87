package assemble

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"grove/builder/artifact"
	"grove/builder/artifact/manifest"
	"grove/builder/bootloader"
	"grove/internal/filesystem"
	"grove/internal/host"
	"grove/internal/size"
	"grove/internal/spec"
	"grove/internal/step"
)

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// parts is an image with data of these sizes, its partitions as resolve lays them out.
func parts(t testing.TB, boot, system, state size.Size, kernel, files int) Parts {
	t.Helper()
	const linux = "0FC63DAF-8483-4772-8E79-3D69D8477DE4"
	i := spec.Image{Name: "demo", Seed: "seed", Time: 1735689600, Cmdline: "console=ttyS0", Board: spec.Board{Arch: spec.AMD64, Console: "ttyS0,115200n8"}}
	at := size.MiB
	add := func(role, label, kind, fs string, sz size.Size) {
		i.Partitions = append(i.Partitions, spec.Partition{Role: role, Label: label, Type: kind, UUID: spec.ID("seed", role), FS: fs, Start: at, Size: sz})
		at += sz
	}
	add("bios-boot", "bios-boot", "21686148-6449-6E6F-744E-656564454649", "", size.MiB)
	at = 4 * size.MiB
	add("boot", "GROVE-BOOT", "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "1234ABCD", boot)
	add("system-a", "system-a", linux, "", system)
	add("system-b", "system-b", linux, "", system)
	add("state", "state", linux, spec.ID("seed", "ext4"), state)

	dir := t.TempDir()
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"mongod": noise(files), "note": []byte("a note")} {
		if err := os.WriteFile(filepath.Join(tree, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := Parts{Image: i, System: filepath.Join(dir, "system"), State: filepath.Join(dir, "state")}
	run(t, "mksquashfs", filesystem.Squashfs{Compression: "lz4", Block: 128 * size.KiB, Time: i.Time}.Arguments(tree, p.System)...)
	ext4 := filesystem.Ext4{Label: "grove-state", UUID: spec.ID("seed", "ext4"), Time: i.Time, Size: state}
	mke2fs := exec.Command("mke2fs", ext4.Arguments(p.State)...)
	mke2fs.Env = append(os.Environ(), ext4.Environment()...)
	if out, err := mke2fs.CombinedOutput(); err != nil {
		t.Fatalf("mke2fs: %v\n%s", err, out)
	}
	p.Loader = bootloader.Pieces{Code: append(noise(436), "GRUB"...), Core: noise(150_783), EFI: noise(667_648)}
	copy(p.Loader.Code[0x5c:], []byte{0, 8, 0, 0, 0, 0, 0, 0})
	p.Boot = []filesystem.File{{Path: "vmlinuz", Data: noise(kernel)}, {Path: "initrd", Data: noise(kernel / 2)}, {Path: "grove/node.yaml", Data: []byte("hostname: a\n")}}
	p.Manifest = manifest.Manifest{Grove: "1.0", Spec: json.RawMessage(`{"Name":"demo"}`), Kernel: "6.12", Go: "go1.26",
		Mongod:   manifest.Mongod{Version: "6.0.5", SHA256: strings.Repeat("ab", 32), Source: json.RawMessage(`{"wheel":"x==1"}`)},
		Packages: []manifest.Package{{Name: "libc6", Version: "2.41-12", Arch: "amd64", Suite: "trixie", File: "pool/main/g/glibc/libc6_2.41-12_amd64.deb", SHA256: strings.Repeat("cd", 32), Use: "system"}},
		Modules:  []manifest.Module{{Path: "github.com/u-root/u-root", Version: "v0.16.0", Sum: "h1:x"}}}
	return p
}

func small(t testing.TB) Parts { return parts(t, 64*size.MiB, 24*size.MiB, 32*size.MiB, 4<<20, 9<<20) }

func write(t testing.TB, p Parts, folder string) artifact.Files {
	t.Helper()
	at, err := Write(context.Background(), host.Real{}, p, folder, step.Silent{})
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// names lists a folder.
func names(t *testing.T, folder string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func TestTheJudgesAreContent(t *testing.T) {
	p, dir := small(t), t.TempDir()
	at := write(t, p, dir)
	want := []string{"demo.bmap", "demo.img", "demo.manifest.json", "demo.sha256", "demo.spdx.json"}
	if diff := cmp.Diff(want, names(t, dir)); diff != "" {
		t.Error(diff)
	}
	if out := run(t, "sgdisk", "-v", at.Image); !strings.Contains(out, "No problems found") {
		t.Error(out)
	}
	sum := exec.Command("sha256sum", "-c", "demo.sha256")
	sum.Dir = dir
	if out, err := sum.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v\n%s", err, out)
	}
	cut := func(role string) string {
		part := p.Image.Partition(role)
		path := filepath.Join(t.TempDir(), role)
		run(t, "dd", "if="+at.Image, "of="+path, "bs=1M", "conv=sparse", "skip="+strings.TrimSuffix(part.Start.String(), "MiB"), "count="+strings.TrimSuffix(part.Size.String(), "MiB"))
		return path
	}
	run(t, "fsck.vfat", "-n", cut("boot"))
	run(t, "e2fsck", "-fn", cut("state"))
	run(t, "cmp", cut("state"), p.State)
	if list := run(t, "unsquashfs", "-l", cut("system-a")); !strings.Contains(list, "squashfs-root/mongod") {
		t.Error(list)
	}
	if got := run(t, "mtype", "-i", at.Image+"@@4M", "::boot.cfg"); got != bootloader.Config(p.Image) {
		t.Errorf("boot.cfg has %q", got)
	}
}

func TestBmaptoolCopiesOntoAnUsedMedium(t *testing.T) {
	p, dir := small(t), t.TempDir()
	at := write(t, p, dir)
	medium := filepath.Join(dir, "medium")
	if err := os.WriteFile(medium, bytes.Repeat([]byte{0xa5}, int(p.Image.Disk())), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "bmaptool", "copy", "--bmap", at.Map, at.Image, medium)
	if out := run(t, "sgdisk", "-v", medium); !strings.Contains(out, "No problems found") {
		t.Error(out)
	}
	boot, state := p.Image.Partition("boot"), p.Image.Partition("state")
	for _, part := range []struct {
		spec.Partition
		judge []string
	}{{boot, []string{"fsck.vfat", "-n"}}, {state, []string{"e2fsck", "-fn"}}} {
		piece := filepath.Join(dir, part.Role)
		run(t, "dd", "if="+medium, "of="+piece, "bs=1M", "skip="+strings.TrimSuffix(part.Start.String(), "MiB"), "count="+strings.TrimSuffix(part.Partition.Size.String(), "MiB"))
		run(t, part.judge[0], part.judge[1], piece)
	}
}

func TestWrittenTwiceIsTheSameAndInspectFindsAll(t *testing.T) {
	p, a, b := small(t), t.TempDir(), t.TempDir()
	at := write(t, p, a)
	write(t, p, b)
	for _, name := range names(t, a) {
		run(t, "cmp", filepath.Join(a, name), filepath.Join(b, name))
	}
	for _, path := range []string{at.Image, at.Manifest} {
		art, err := artifact.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := art.Verify(context.Background(), step.Silent{}); err != nil {
			t.Error(err)
		}
	}
	art, _ := artifact.Open(at.Image)
	in, err := art.Inspect()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range in.Partitions {
		got = append(got, part.Name+": "+part.Holds)
	}
	want := []string{"bios-boot: data", "GROVE-BOOT: FAT32 GROVE-BOOT", "system-a: squashfs, lz4", "system-b: empty", "state: ext4 grove-state"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if want := []string{"BIOS: GRUB, core in bios-boot", "UEFI: EFI/BOOT/BOOTX64.EFI in GROVE-BOOT"}; !cmp.Equal(in.Loaders, want) {
		t.Errorf("loaders: got %q, want %q", in.Loaders, want)
	}
	files := in.Partitions[1].Files
	if files["vmlinuz"] != 4<<20 || files["grove/node.yaml"] != 12 || len(files) != 6 || in.Disk != p.Image.DiskID() {
		t.Errorf("disk %s, files %v", in.Disk, files)
	}
}

func TestCompressedImageIsTheImage(t *testing.T) {
	p, dir := small(t), t.TempDir()
	p.Compress = true
	at := write(t, p, dir)
	f, err := os.Open(at.Compressed)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if _, err := got.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(at.Image); err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%d bytes come out, want the %d of the image, %v", got.Len(), len(want), err)
	}
	p.Compress = false
	if at := write(t, p, dir); at.Compressed != "" || len(names(t, dir)) != 5 {
		t.Errorf("without: got %v, want the old one gone", names(t, dir))
	}
}

func TestRefusedBeforeAnythingIsWritten(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Parts, *host.Fake, *string)
		want   string
	}{
		{"system too large", func(p *Parts, _ *host.Fake, _ *string) { p.Image.Partitions[2].Size = size.MiB },
			"system-a is too small: have 9 MiB to put there, it holds 1 MiB"},
		{"boot too full", func(p *Parts, _ *host.Fake, _ *string) {
			p.Boot = append(p.Boot, filesystem.File{Path: "more", Data: make([]byte, 60<<20)})
		}, "boot is too small: have 66.6 MiB to put there, it holds 63"},
		{"core too large", func(p *Parts, _ *host.Fake, _ *string) { p.Loader.Core = make([]byte, 1<<20+1) },
			"bios-boot is too small: have 1048577B to put there, it holds 1MiB"},
		{"two at once", func(p *Parts, _ *host.Fake, _ *string) {
			p.Image.Partitions[2].Size = size.MiB
			p.System, p.Loader.Core = "/nonexistent", make([]byte, 2<<20)
		}, "bios-boot is too small: have 2 MiB to put there, it holds 1 MiB\nsystem-a: stat /nonexistent"},
		{"state of another size", func(p *Parts, _ *host.Fake, _ *string) { p.Image.Partitions[4].Size = 40 * size.MiB },
			"state: have an ext4 of 32MiB, want 40MiB"},
		{"overlap", func(p *Parts, _ *host.Fake, _ *string) { p.Image.Partitions[3].Start -= size.MiB }, "system-b: overlaps system-a"},
		{"disk full", func(_ *Parts, h *host.Fake, _ *string) { h.FreeBytes = 5 << 20 }, "MiB needed, 5 MiB free"},
		{"folder is a file", func(p *Parts, _ *host.Fake, folder *string) { *folder = p.System }, "output folder: mkdir"},
		{"two names in FAT", func(p *Parts, _ *host.Fake, _ *string) {
			p.Boot = append(p.Boot, filesystem.File{Path: "VMLINUZ"})
		}, "boot: put VMLINUZ into FAT: vmlinuz is there too"},
	}
	whole := small(t)
	for _, test := range tests {
		p, h, out := whole, &host.Fake{}, filepath.Join(t.TempDir(), "out")
		p.Image.Partitions, p.Boot = slices.Clone(whole.Image.Partitions), slices.Clone(whole.Boot)
		test.change(&p, h, &out)
		_, err := Write(context.Background(), h, p, out, step.Silent{})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
		if found, _ := os.ReadDir(out); len(found) > 0 {
			t.Errorf("%s: left %v", test.name, found)
		}
	}
}

// stop cancels when so many bytes are counted.
type stop struct {
	at     int64
	cancel func()
}

func (s *stop) Total(int64) {}
func (s *stop) Add(n int64) {
	if s.at -= n; s.at < 0 {
		s.cancel()
	}
}

func TestCancelledLeavesWhatWasThere(t *testing.T) {
	p, dir := small(t), t.TempDir()
	write(t, p, dir)
	before := run(t, "sha256sum", filepath.Join(dir, "demo.img"), filepath.Join(dir, "demo.manifest.json"))
	p.Boot[0].Data = noise(1 << 20)
	p.Compress = true
	for _, at := range []int64{0, 1 << 20, 30 << 20, 120 << 20, 200 << 20} {
		ctx, cancel := context.WithCancel(context.Background())
		_, err := Write(ctx, host.Real{}, p, dir, &stop{at, cancel})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at %d: got %v", at, err)
		}
		if len(names(t, dir)) != 5 {
			t.Errorf("cancelled at %d: left %v", at, names(t, dir))
		}
	}
	if after := run(t, "sha256sum", filepath.Join(dir, "demo.img"), filepath.Join(dir, "demo.manifest.json")); after != before {
		t.Error("the earlier image changed")
	}
}

func TestAFullSizeImageIsWrittenInTheTimeOfItsHash(t *testing.T) {
	if testing.Short() {
		t.Skip("leaves out the time of a 1.3 GiB image")
	}
	p := parts(t, 256*size.MiB, 512*size.MiB, 64*size.MiB, 14<<20, 75<<20)
	start := time.Now()
	at := write(t, p, t.TempDir())
	took := time.Since(start)
	start = time.Now()
	art, err := artifact.Open(at.Image)
	if err != nil {
		t.Fatal(err)
	}
	if err := art.Verify(context.Background(), step.Silent{}); err != nil {
		t.Fatal(err)
	}
	hash := time.Since(start)
	t.Logf("written in %s, read and hashed in %s, %s on the disk", took, hash, strings.Fields(run(t, "du", "-h", at.Image))[0])
	if took > 2*hash+time.Second {
		t.Errorf("took %s, reading and hashing alone %s", took, hash)
	}
}
