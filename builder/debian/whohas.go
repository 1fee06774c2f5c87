package debian

import (
	"context"
	"fmt"
	"os"
	"path"

	"grove/builder/debian/contents"
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
	found, err := contents.Holders(ctx, r, file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return found, nil
}

// Known keeps those names that the index has packages of.
func (x *Index) Known(names []string) (known []string, err error) {
	for _, name := range names {
		found, err := x.versions(name)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			known = append(known, name)
		}
	}
	return known, nil
}
