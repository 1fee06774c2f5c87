// Package table keeps an index of packages in a form that is searched without being read: an index of 57 MB becomes two sorted tables, and loading one
// costs no more than reading the file.
//
//	packages  NAME  VERSION  ARCH  SOURCE  FILENAME  SIZE  SHA256  DEPENDS
//	provides  VIRTUAL  ITS-VERSION  PROVIDER  VERSION-OF-PROVIDER
//
// A line each, fields separated by a tab, in the order of the bytes of the first field.
package table

import (
	"bytes"
	"slices"
	"strings"
)

// Form names this form, for a cache's key: change it with the tables.
const Form = "1"

// field is a place in a line of the packages table.
const (
	fName = iota
	fVersion
	fArch
	fSource
	fFilename
	fSize
	fSHA256
	fDepends
	fPreDepends // these two don't stand in the table
	fProvides
	fields
)

var keys = map[string]int{
	"Package": fName, "Version": fVersion, "Architecture": fArch, "Source": fSource, "Filename": fFilename, "Size": fSize, "SHA256": fSHA256,
	"Depends": fDepends, "Pre-Depends": fPreDepends, "Provides": fProvides,
}

// Reduce makes the tables of the text of an index.
func Reduce(text []byte) Table {
	var lines, virtual []string
	for len(text) > 0 {
		var f [fields]string
		text = stanza(text, &f)
		if f[fName] == "" || f[fFilename] == "" {
			continue
		}
		if f[fSource] == "" {
			f[fSource] = f[fName]
		}
		if f[fPreDepends] != "" {
			f[fDepends] = strings.TrimSuffix(f[fPreDepends]+", "+f[fDepends], ", ")
		}
		lines = append(lines, strings.Join(f[:fPreDepends], "\t"))
		virtual = append(virtual, provided(f)...)
	}
	return Table{packages: sorted(lines), provides: sorted(virtual)}
}

// stanza reads the fields up to the next empty line and gives what is behind it.
func stanza(text []byte, f *[fields]string) []byte {
	last := -1
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			end = len(text) - 1
		}
		line := bytes.TrimRight(text[:end+1], "\r\n")
		text = text[end+1:]
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' {
			if last >= 0 {
				f[last] += " " + string(bytes.TrimSpace(line))
			}
			continue
		}
		last = -1
		if colon := bytes.IndexByte(line, ':'); colon > 0 {
			if n, known := keys[string(line[:colon])]; known {
				last, f[n] = n, string(bytes.TrimSpace(line[colon+1:]))
			}
		}
	}
	return text
}

// provided reads `a, b (= 1.2)` into lines of the provides table.
func provided(f [fields]string) (lines []string) {
	if f[fProvides] == "" {
		return nil
	}
	for _, one := range strings.Split(f[fProvides], ",") {
		name, version, _ := strings.Cut(strings.TrimSpace(one), " ")
		name, _, _ = strings.Cut(name, ":")
		version = strings.TrimSpace(strings.Trim(strings.TrimSpace(version), "(=)"))
		lines = append(lines, name+"\t"+version+"\t"+f[fName]+"\t"+f[fVersion])
	}
	return lines
}

// sorted sorts and joins lines. A tab is the lowest byte in them, so that whole lines sort as their first fields do.
func sorted(lines []string) []byte {
	slices.Sort(lines)
	n := 0
	for _, line := range lines {
		n += len(line) + 1
	}
	t := make([]byte, 0, n)
	for _, line := range lines {
		t = append(append(t, line...), '\n')
	}
	return t
}
