package mongod

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"regexp"
)

// The memory allocators that a mongod can be built with (site_scons, --allocator).
var allocators = []string{"tcmalloc", "system", "tcmalloc-google", "tcmalloc-gperf"}

var (
	versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)
	commitForm  = regexp.MustCompile(`^[0-9a-f]{40}$`)
)

// Version reads the version out of the program without running it; "" when it is not found.
//
// MongoDB's build info (src/mongo/util/version.cpp) is made of literals that the compiler lays side by side: version, on arm64 also the commit, then
// the name of the allocator. Seen so in 4.2.6, 4.4.2, 5.0.4 and 6.0.5, amd64 and arm64. A bare number would not do: zlib's and snappy's lie near.
func Version(r io.ReaderAt) (string, error) {
	text, err := literals(r)
	if err != nil {
		return "", err
	}
	for _, name := range allocators {
		mark := []byte("\x00" + name + "\x00")
		for at := 0; ; {
			n := bytes.Index(text[at:], mark)
			if n < 0 {
				break
			}
			if v := before(text[:at+n]); v != "" {
				return v, nil
			}
			at += n + 1
		}
	}
	return "", nil
}

// before gives the version that the text ends with, NULs and one commit left aside.
func before(text []byte) string {
	last := func() string {
		text = bytes.TrimRight(text, "\x00")
		at := bytes.LastIndexByte(text[max(0, len(text)-64):], 0)
		word := text[max(0, len(text)-64)+at+1:]
		text = text[:len(text)-len(word)]
		return string(word)
	}
	word := last()
	if commitForm.MatchString(word) {
		word = last()
	}
	if versionForm.MatchString(word) {
		return word
	}
	return ""
}

// literals is the section with the program's constants, some 10 MB.
func literals(r io.ReaderAt) ([]byte, error) {
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, fmt.Errorf("read the ELF headers: %w", err)
	}
	section := f.Section(".rodata")
	if section == nil {
		return nil, nil
	}
	text, err := section.Data()
	if err != nil {
		return nil, fmt.Errorf("read the program's constants: %w", err)
	}
	return text, nil
}

// mentions tells whether the version stands in the program at all, as the end of a C string. It can only refute.
func mentions(file, version string) (bool, error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	text, err := literals(f)
	return bytes.Contains(text, []byte(version+"\x00")), err
}
