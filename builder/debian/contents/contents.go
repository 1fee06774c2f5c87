// Package contents reads Debian's Contents lists: which package has which file. They are long, 170 MB for amd64, and are read once through.
package contents

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path"
	"slices"
	"strings"
)

// Holders gives the packages that hold a file of this name, by name. The list has lines `usr/lib/x86_64-linux-gnu/libssl.so.3   libs/libssl3t64,libs/other`.
func Holders(ctx context.Context, list io.Reader, file string) ([]string, error) {
	lines := bufio.NewReaderSize(list, 1<<20)
	want := []byte("/" + file)
	var found []string
	for n := 0; ; n++ {
		line, err := lines.ReadSlice('\n')
		if n%100_000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if bytes.Contains(line, want) {
			found = append(found, packagesOf(string(line), file)...)
		}
		if err == io.EOF {
			slices.Sort(found)
			return slices.Compact(found), nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func packagesOf(line, file string) (names []string) {
	gap := strings.LastIndexAny(strings.TrimSpace(line), " \t")
	if gap < 0 || path.Base(strings.TrimSpace(line[:gap])) != file {
		return nil
	}
	for _, owner := range strings.Split(strings.TrimSpace(line[gap:]), ",") {
		names = append(names, path.Base(owner))
	}
	return names
}
