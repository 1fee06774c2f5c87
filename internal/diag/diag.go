// Package diag is a fault in a file that a person wrote: where it stands, what was found there, what would do.
//
// Findings are collected, never returned one by one, and are shown in the order of the file with the line and a caret.
package diag

import (
	"fmt"
	"io"
	"sort"
	"strings"
)

// Place is a position in a file. Line and Col count from 1; Line 0 means the file as a whole.
type Place struct {
	File string
	Line int
	Col  int
	Text string // the whole line, for the caret
}

// Finding is one fault: `recipes/x.yaml:14:11: swap[0].size: want a size such as 512MiB, have "big"`.
type Finding struct {
	Place Place  `json:"place"`
	Key   string `json:"key,omitempty"` // path of the key: swap[0].size
	Text  string `json:"text"`
}

// Findings is a set of faults, and as such an error.
type Findings []Finding

// Error lists one finding a line, in file order, without the carets.
func (f Findings) Error() string {
	lines := make([]string, len(f))
	for i, one := range f.sorted() {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Err is nil when nothing was found.
func (f Findings) Err() error {
	if len(f) == 0 {
		return nil
	}
	return f
}

// String is the line without the caret.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.Place.File)
	if f.Place.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Place.Line, f.Place.Col)
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if f.Key != "" {
		b.WriteString(f.Key + ": ")
	}
	b.WriteString(f.Text)
	return b.String()
}

// Write prints the findings in file order, each with its line and a caret under the column.
func (f Findings) Write(w io.Writer) {
	for _, one := range f.sorted() {
		fmt.Fprintln(w, one)
		if one.Place.Line > 0 && one.Place.Text != "" {
			fmt.Fprintf(w, "    %s\n    %s^\n", strings.ReplaceAll(one.Place.Text, "\t", " "), strings.Repeat(" ", max(one.Place.Col-1, 0)))
		}
	}
}

func (f Findings) sorted() Findings {
	sorted := append(Findings(nil), f...)
	sort.SliceStable(sorted, func(i, j int) bool {
		a, b := sorted[i].Place, sorted[j].Place
		if a.File != b.File {
			return a.File < b.File
		}
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Col < b.Col
	})
	return sorted
}
