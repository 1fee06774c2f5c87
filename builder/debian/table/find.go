package table

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Table is one index in the form to be searched.
type Table struct{ packages, provides []byte }

// Write makes a folder with the tables.
func (t Table) Write(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "packages"), t.packages, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "provides"), t.provides, 0o644)
}

// Read loads what Write wrote.
func Read(dir string) (t Table, err error) {
	if t.packages, err = os.ReadFile(filepath.Join(dir, "packages")); err != nil {
		return t, err
	}
	t.provides, err = os.ReadFile(filepath.Join(dir, "provides"))
	return t, err
}

// Package is a line of the packages table.
type Package struct {
	Name, Version, Arch, Source, Filename, SHA256 string
	Size                                          int64
	Depends                                       string // pre-dependencies and dependencies, as Debian writes them
}

// Packages gives those of this name.
func (t Table) Packages(name string) ([]Package, error) {
	var found []Package
	for _, row := range rows(t.packages, name) {
		f := strings.Split(string(row), "\t")
		if len(f) != fPreDepends {
			return nil, fmt.Errorf("BUG: line of the packages table: %q", row)
		}
		n, err := strconv.ParseInt(f[fSize], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("size of package %s in the index: %w", name, err)
		}
		found = append(found, Package{
			Name: f[fName], Version: f[fVersion], Arch: f[fArch], Source: f[fSource], Filename: f[fFilename], SHA256: f[fSHA256],
			Size: n, Depends: f[fDepends],
		})
	}
	return found, nil
}

// Provider is a package that stands for a virtual one, of version As if that is not empty.
type Provider struct{ Name, Version, As string }

// Providers gives the providers of a virtual package.
func (t Table) Providers(virtual string) []Provider {
	var found []Provider
	for _, row := range rows(t.provides, virtual) {
		f := strings.Split(string(row), "\t")
		found = append(found, Provider{Name: f[2], Version: f[3], As: f[1]})
	}
	return found
}

// Names lists the packages, one line each.
func (t Table) Names() []string {
	var all []string
	for line := range bytes.Lines(t.packages) {
		all = append(all, string(first(line)))
	}
	return all
}

// rows gives the lines of a table whose first field is key.
func rows(table []byte, key string) [][]byte {
	lo, hi := 0, len(table)
	for lo < hi {
		start := bytes.LastIndexByte(table[:(lo+hi)/2], '\n') + 1
		if string(first(table[start:])) < key {
			lo = start + bytes.IndexByte(table[start:], '\n') + 1
		} else {
			hi = start
		}
	}
	var found [][]byte
	for lo < len(table) && string(first(table[lo:])) == key {
		end := lo + bytes.IndexByte(table[lo:], '\n')
		found = append(found, table[lo:end])
		lo = end + 1
	}
	return found
}

// first is the first field of the first line.
func first(table []byte) []byte { return table[:max(bytes.IndexByte(table, '\t'), 0)] }
