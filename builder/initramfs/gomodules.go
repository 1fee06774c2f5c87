package initramfs

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sort"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
)

// GoModules lists the Go modules that the programs in packed parts were built from, by path, as the linker noted them. Grove itself is left out.
func GoModules(parts ...string) ([]debug.Module, error) {
	found := map[string]debug.Module{}
	for _, part := range parts {
		if err := modulesOf(part, found); err != nil {
			return nil, fmt.Errorf("list the Go modules of %s: %w", part, err)
		}
	}
	var list []debug.Module
	for _, m := range found {
		list = append(list, m)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list, nil
}

func modulesOf(part string, found map[string]debug.Module) error {
	f, err := os.Open(part)
	if err != nil {
		return err
	}
	defer f.Close()
	packed, err := zstd.NewReader(f)
	if err != nil {
		return err
	}
	defer packed.Close()
	plain, err := io.ReadAll(packed)
	if err != nil {
		return err
	}
	records := cpio.Newc.Reader(bytes.NewReader(plain))
	for {
		r, err := records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.Mode&cpio.S_IFMT != cpio.S_IFREG || r.FileSize < 1<<20 {
			continue // the programs are larger
		}
		info, err := buildinfo.Read(r)
		if err != nil {
			continue // no program of Go
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = debug.Module{Path: m.Path, Version: m.Version, Sum: m.Sum}
		}
	}
}
