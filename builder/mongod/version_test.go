package mongod

import (
	"bytes"
	"debug/elf"
	"testing"
)

// The constants are those of MongoDB's own binaries, a few lines of each.
func TestVersion(t *testing.T) {
	for _, c := range []struct{ name, constants, want string }{
		{"4.2.6, amd64", "outputConfig\x00\": \x004.2.6\x00tcmalloc\x00mozjs\x00debian92\x00distmod\x001.2.11\x00", "4.2.6"},
		{"6.0.5, amd64", "OutputConfig\x00outputConfig\x006.0.5\x00tcmalloc\x00mozjs\x00EnableVersionInfo\x001.2.11\x00", "6.0.5"},
		{"6.0.5, arm64: padding and the commit", "7.81.0\x00options_parser_init.cpp\x00\x00\x006.0.5\x00\x00\x00c9a99c120371d4d4c52cbb15dac34a36ce8d3b1d\x00\x00\x00\x00\x00tcmalloc\x00\x00\x00mozjs\x00", "6.0.5"},
		{"a release candidate with the system's allocator", "x\x008.0.0-rc3\x00system\x00", "8.0.0-rc3"},
		{"the allocator's name elsewhere first", "heap\x00tcmalloc\x00size\x00\x006.0.5\x00tcmalloc\x00", "6.0.5"},
		{"a version at the very start", "6.0.5\x00tcmalloc\x00", "6.0.5"},
		{"only a library's version", "1.2.11\x00zlib\x00tcmalloc\x00", ""},
		{"nothing", "", ""},
	} {
		if got, err := Version(bytes.NewReader(program(elf.EM_X86_64, c.constants))); err != nil || got != c.want {
			t.Errorf("%s: got %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if _, err := Version(bytes.NewReader([]byte("#!/bin/sh\n"))); err == nil {
		t.Error("a script has no version; want an error")
	}
}
