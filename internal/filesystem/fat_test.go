package filesystem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"grove/internal/size"
)

func boot(sz size.Size) FAT {
	return FAT{Label: "GROVE-BOOT", ID: 0x1234abcd, Time: 1700000000, Size: sz}
}

func bootFiles(kernel int) []File {
	return []File{
		{Path: "vmlinuz", Data: bytes.Repeat([]byte("kernel.."), kernel/8)},
		{Path: "initrd", Data: bytes.Repeat([]byte("initramfs"), 1000)},
		{Path: "boot.cfg", Data: []byte("linux /vmlinuz\n")},
		{Path: "EFI/BOOT/BOOTX64.EFI", Data: bytes.Repeat([]byte("MZ"), 10000)},
		{Path: "grove/node.yaml", Data: []byte("hostname: cluster2\n")},
		{Path: "grove/A name of more than thirteen letters, twice over.text", Data: []byte("long")},
		{Path: "grove/exactly13char", Data: []byte("13")},
		{Path: "grove/deep/deeper/deepest/ünïcode näme.dtb", Data: []byte("u")},
		{Path: "grove/empty"},
	}
}

// make writes a file system into a sparse file of its size.
func makeFAT(t testing.TB, f FAT, files []File) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fat")
	img, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	if err := img.Truncate(int64(f.Start + f.Size)); err != nil {
		t.Fatal(err)
	}
	if err := f.Write(context.Background(), img, files, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// judge asks fsck.vfat.
func judgeFAT(path string) error {
	out, err := exec.Command("fsck.vfat", "-n", "-v", path).CombinedOutput()
	said := string(out)
	if err != nil || strings.Contains(said, "Free cluster summary") || strings.Contains(said, "differences") || strings.Contains(said, "Fixing") {
		return fmt.Errorf("fsck.vfat: %v\n%s", err, said)
	}
	return nil
}

func TestFATOfEverySizeIsCleanForFsck(t *testing.T) {
	step := 1
	if testing.Short() {
		step = 37
	}
	sizes := make(chan int)
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for mib := range sizes {
				path := makeFAT(t, boot(size.Size(mib)*size.MiB), bootFiles(3<<20))
				if err := judgeFAT(path); err != nil {
					t.Errorf("%d MiB: %v", mib, err)
				}
				os.Remove(path)
			}
		})
	}
	for mib := 33; mib <= 600; mib += step {
		sizes <- mib
	}
	close(sizes)
	all.Wait()
}

func TestFATOfOddSizesIsCleanForFsck(t *testing.T) {
	for _, sz := range []size.Size{33*size.MiB + 512, 100*size.MiB - 512, 260*size.MiB + 1024, size.GiB, 3 * size.GiB, 40 * size.GiB} {
		if err := judgeFAT(makeFAT(t, boot(sz), bootFiles(1<<20))); err != nil {
			t.Errorf("%s: %v", sz, err)
		}
	}
}

func TestFilesAreReadBackByMtools(t *testing.T) {
	f := boot(64 * size.MiB)
	f.Start = 4 * size.MiB
	big := filepath.Join(t.TempDir(), "big")
	want := bytes.Repeat([]byte("0123456789abcdef\n"), 200000)
	if err := os.WriteFile(big, want, 0o644); err != nil {
		t.Fatal(err)
	}
	files := append(bootFiles(1<<20), File{Path: "big.bin", From: big})
	path := makeFAT(t, f, files)
	at := path + "@@4M"
	for _, file := range files {
		if file.From == "" {
			want = file.Data
		} else {
			want, _ = os.ReadFile(file.From)
		}
		cmd := exec.Command("mtype", "-i", at, "::"+file.Path)
		cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
		got, err := cmd.Output()
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %v, got %d bytes, want %d", file.Path, err, len(got), len(want))
		}
	}
	cmd := exec.Command("mdir", "-/", "-b", "-i", at, "::")
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	list, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.Contains(string(list), "::/"+file.Path+"\n") {
			t.Errorf("mdir lacks %s:\n%s", file.Path, list)
		}
	}
	info, err := exec.Command("minfo", "-i", at, "::").Output()
	for _, word := range []string{`disk label="GROVE-BOOT "`, "serial number: 1234ABCD", "hidden sectors: 8192"} {
		if !strings.Contains(string(info), word) {
			t.Errorf("minfo lacks %s: %v\n%s", word, err, info)
		}
	}
}

func TestSameFilesInAnyOrderGiveTheSameBytes(t *testing.T) {
	files := bootFiles(1 << 20)
	turned := append([]File(nil), files...)
	for i := range turned {
		turned[i], turned[len(files)-1-i] = files[len(files)-1-i], files[i]
	}
	a, _ := os.ReadFile(makeFAT(t, boot(40*size.MiB), files))
	b, _ := os.ReadFile(makeFAT(t, boot(40*size.MiB), turned))
	if !bytes.Equal(a, b) {
		t.Error("two file systems of the same files differ")
	}
}

func TestNumberedShortNamesAndAFullFileSystem(t *testing.T) {
	var files []File
	for i := range 300 {
		files = append(files, File{Path: fmt.Sprintf("dtbs/sun7i-a20-board-%03d.dtb", i), Data: []byte{byte(i)}})
	}
	files = append(files, File{Path: "dtbs/SUN7I-~1.DTB", Data: []byte("taken")})
	f := boot(33 * size.MiB)
	_, room, err := f.Used(files)
	if err != nil {
		t.Fatal(err)
	}
	used, _, _ := f.Used(files)
	files = append(files, File{Path: "rest", Data: make([]byte, room-used)})
	if used, _, _ := f.Used(files); used != room {
		t.Fatalf("used %s of %s, want all", used, room)
	}
	if err := judgeFAT(makeFAT(t, f, files)); err != nil {
		t.Error(err)
	}
	files = append(files, File{Path: "more", Data: []byte("x")})
	err = f.Write(context.Background(), nil, files, nil)
	if err == nil || !strings.Contains(err.Error(), "files need 32.5 MiB, FAT32 of 33MiB has room for 32.5 MiB") {
		t.Errorf("one file too many: got %v", err)
	}
}

func TestFaultsNameThePathAndWriteNothing(t *testing.T) {
	tests := []struct {
		name  string
		files []File
		want  string
	}{
		{"case", []File{{Path: "EFI/a"}, {Path: "efi/b"}}, "put efi/b into FAT: EFI is there too"},
		{"same", []File{{Path: "a"}, {Path: "a"}}, "put a into FAT: a is there already"},
		{"file and folder", []File{{Path: "a"}, {Path: "a/b"}}, "put a/b into FAT: a is there already"},
		{"folder and file", []File{{Path: "a/b"}, {Path: "a"}}, "put a into FAT: a is there already"},
		{"absolute", []File{{Path: "/a"}}, `put /a into FAT: "" is no name`},
		{"dots", []File{{Path: "a/../b"}}, `".." is no name`},
		{"colon", []File{{Path: "a:b"}}, `name "a:b" has one of`},
		{"not UTF-8", []File{{Path: "a\xff"}}, "no UTF-8"},
		{"trailing dot", []File{{Path: "a."}}, "ends with"},
		{"long", []File{{Path: strings.Repeat("x", 256)}}, "256 UTF-16 units"},
		{"missing", []File{{Path: "a", From: "/nonexistent/a"}}, "put a into FAT: stat /nonexistent/a: no such file"},
		{"folder as source", []File{{Path: "a", From: "/"}}, "/ is no regular file"},
		{"two faults", []File{{Path: "a:"}, {Path: "b:"}}, `put b: into FAT`},
	}
	for _, test := range tests {
		err := boot(40*size.MiB).Write(context.Background(), nil, test.files, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	for _, f := range []FAT{{Label: "X", Size: 32 * size.MiB}, {Label: "X", Size: 40*size.MiB + 1}, {Label: "x", Size: 40 * size.MiB},
		{Label: "TWELVE CHARS", Size: 40 * size.MiB}, {Size: 40 * size.MiB}} {
		if err := f.Write(context.Background(), nil, nil, nil); err == nil {
			t.Errorf("%+v: want an error", f)
		}
	}
}

func TestCancelEndsTheCopy(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, 8<<20), 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := os.Create(filepath.Join(t.TempDir(), "fat"))
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	var done int64
	err = boot(40*size.MiB).Write(ctx, img, []File{{Path: "big", From: big}}, func(n int64) { done += n; cancel() })
	if !errors.Is(err, context.Canceled) || done != 1<<20 {
		t.Errorf("got %v after %d bytes, want to be cancelled after the first MiB", err, done)
	}
}

func Test60MBTakeLessThanASecond(t *testing.T) {
	dir := t.TempDir()
	var files []File
	for _, name := range []string{"vmlinuz", "initrd", "usr.img"} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("grove!!!"), 20_000_000/8), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, File{Path: "grove/" + name, From: filepath.Join(dir, name)})
	}
	start := time.Now()
	makeFAT(t, boot(256*size.MiB), files)
	if took := time.Since(start); took > time.Second {
		t.Errorf("took %s", took)
	} else {
		t.Logf("60 MB in %s", took)
	}
}
