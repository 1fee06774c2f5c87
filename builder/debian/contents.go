package debian

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"grove/builder/debian/deb"
	"grove/internal/step"
)

// WhoHas gives the packages of the suite that hold a file of this name, such as libssl.so.3, by name; none when no package has it. It downloads the
// suite's list of contents, 13 MB for amd64, once for each state of the suite.
func (x *Index) WhoHas(ctx context.Context, file string) ([]string, error) {
	main := x.tables[0]
	name, _ := pick(main.release, "main/Contents-"+string(x.client.Origin.Arch), ".gz", ".xz")
	if name == "" {
		return nil, fmt.Errorf("look for the package of %s: the release of %s lists no contents", file, main.suite)
	}
	s := suite{name: main.suite, mirror: main.mirror}
	list, err := x.client.file(ctx, s, main.release, name, x.client.Fetcher.Offline, step.Silent{})
	if err != nil {
		return nil, fmt.Errorf("look for the package of %s: %w", file, err)
	}
	f, err := os.Open(list)
	if err != nil {
		return nil, fmt.Errorf("look for the package of %s: %w", file, err)
	}
	defer f.Close()
	r, err := deb.Decompress(f, path.Ext(name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	found, err := holders(ctx, r, file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return found, nil
}

// holders reads lines `usr/lib/x86_64-linux-gnu/libssl.so.3   libs/libssl3t64,libs/other`.
func holders(ctx context.Context, list io.Reader, file string) ([]string, error) {
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
