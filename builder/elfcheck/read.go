package elfcheck

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"grove/internal/spec"
)

// Object is an ELF file as far as the loader asks about it.
type Object struct {
	Arch   string // Debian's name where it has one: amd64, arm64, armhf, armel, i386
	Interp string // the loader of a program, absolute
	Needed []string
	Path   []string // RUNPATH, or RPATH where there is none; $ORIGIN is not replaced
	Wants  []Want
	Gives  []string // the versions that a library defines, its own name among them
}

// Want is the versions that a file needs of one library, without the weak ones.
type Want struct {
	Library  string
	Versions []string
}

// ErrNotELF is a file of another kind.
var ErrNotELF = errors.New("not an ELF file")

// Read looks at one file.
func Read(r io.ReaderAt) (Object, error) {
	head := make([]byte, len(elf.ELFMAG))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return Object{}, err
	} else if string(head) != elf.ELFMAG {
		return Object{}, ErrNotELF
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return Object{}, fmt.Errorf("read the ELF headers: %w", err)
	}
	o := Object{Arch: arch(f, r)}
	if f.Type == elf.ET_REL { // kernel modules need no loader
		return o, nil
	}
	return o, o.dynamic(f)
}

// dynamic reads what the linker left for the loader.
func (o *Object) dynamic(f *elf.File) error {
	dynamic := false
	for _, p := range f.Progs {
		switch p.Type {
		case elf.PT_DYNAMIC:
			dynamic = true
		case elf.PT_INTERP:
			name, err := io.ReadAll(p.Open())
			if err != nil {
				return fmt.Errorf("read the name of the loader: %w", err)
			}
			o.Interp = strings.TrimRight(string(name), "\x00")
		}
	}
	if dynamic && f.SectionByType(elf.SHT_DYNAMIC) == nil {
		return errors.New("has no section table, so its libraries can't be checked")
	}
	var err error
	if o.Needed, err = f.DynString(elf.DT_NEEDED); err != nil {
		return fmt.Errorf("read the needed libraries: %w", err)
	}
	if o.Path, err = searchPath(f); err != nil {
		return fmt.Errorf("read the library path: %w", err)
	}
	return o.symbolVersions(f)
}

func searchPath(f *elf.File) (dirs []string, err error) {
	for _, tag := range []elf.DynTag{elf.DT_RUNPATH, elf.DT_RPATH} {
		values, err := f.DynString(tag)
		if err != nil || len(values) > 0 {
			for _, v := range values {
				dirs = append(dirs, strings.Split(v, ":")...)
			}
			return dirs, err
		}
	}
	return nil, nil
}

func (o *Object) symbolVersions(f *elf.File) error {
	if f.SectionByType(elf.SHT_GNU_VERSYM) == nil {
		return nil
	}
	needs, err := f.DynamicVersionNeeds()
	if err != nil {
		return fmt.Errorf("read the needed versions: %w", err)
	}
	for _, n := range needs {
		w := Want{Library: n.Name}
		for _, v := range n.Needs {
			if v.Flags&elf.VER_FLG_WEAK == 0 {
				w.Versions = append(w.Versions, v.Dep)
			}
		}
		o.Wants = append(o.Wants, w)
	}
	defined, err := f.DynamicVersions()
	if err != nil {
		return fmt.Errorf("read the defined versions: %w", err)
	}
	for _, d := range defined {
		if d.Flags&elf.VER_FLG_BASE == 0 { // the base is the file itself
			o.Gives = append(o.Gives, d.Name)
		}
	}
	return nil
}

// The float ABI of a 32-bit ARM file, in e_flags (ELF for the ARM architecture, 5.2).
const (
	flagsOffset32 = 36
	floatSoft     = 0x200
)

// arch is Debian's name of the machine, or a description of it. Unmarked ARM files pass as hard float: glibc takes them, and a soft-float program
// gives itself away by its loader.
func arch(f *elf.File, r io.ReaderAt) string {
	is := func(c elf.Class, m elf.Machine) bool {
		return f.Class == c && f.Machine == m && f.Data == elf.ELFDATA2LSB
	}
	switch {
	case is(elf.ELFCLASS64, elf.EM_X86_64):
		return string(spec.AMD64)
	case is(elf.ELFCLASS64, elf.EM_AARCH64):
		return string(spec.ARM64)
	case is(elf.ELFCLASS32, elf.EM_386):
		return "i386"
	case is(elf.ELFCLASS32, elf.EM_ARM):
		var flags [4]byte
		if _, err := r.ReadAt(flags[:], flagsOffset32); err == nil && f.ByteOrder.Uint32(flags[:])&floatSoft != 0 {
			return "armel (soft float)"
		}
		return string(spec.ARMHF)
	}
	return fmt.Sprintf("%s, %s, %s", f.Machine, f.Class, f.Data)
}

// Scan reads all ELF files and links below dir.
func Scan(dir string) (Tree, error) {
	t := Tree{Objects: map[string]Object{}, Links: map[string]string{}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		return t.Add(filepath.ToSlash(rel), p)
	})
	return t, err
}

// Add takes in the file or link at place as name in the tree.
func (t Tree) Add(name, place string) error {
	info, err := os.Lstat(place)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		t.Links[name], err = os.Readlink(place)
		return err
	}
	if !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(place)
	if err != nil {
		return err
	}
	defer f.Close()
	o, err := Read(f)
	if errors.Is(err, ErrNotELF) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t.Objects[name] = o
	return nil
}
