package debian

import (
	"cmp"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"grove/builder/debian/table"
	"grove/internal/spec"
)

// suiteOf makes the tables of a suite from lines `NAME VERSION; DEPENDS; PROVIDES`.
func suiteOf(name string, lines ...string) *tables {
	var text strings.Builder
	for _, line := range lines {
		f := append(strings.Split(line, ";"), "", "")
		pkg, version, _ := strings.Cut(strings.TrimSpace(f[0]), " ")
		text.WriteString("Package: " + pkg + "\nVersion: " + version + "\nFilename: f\nSize: 1\nDepends: " + strings.TrimSpace(f[1]) + "\nProvides: " + strings.TrimSpace(f[2]) + "\n\n")
	}
	return &tables{suite: name, Table: table.Reduce([]byte(text.String()))}
}

func TestClosure(t *testing.T) {
	rows := []struct {
		name     string
		main     []string
		security []string
		roots    string
		without  string
		want     string // packages, or part of the error behind "!"
	}{
		{"a chain, and a circle", []string{"a 1; b", "b 1; c", "c 1; a", "d 1"}, nil, "a", "", "a=1 b=1 c=1"},
		{"the first alternative that there is", []string{"a 1; x | b | c", "b 1", "c 1"}, nil, "a", "", "a=1 b=1"},
		{"the alternative that is a root", []string{"a 1; b | c", "b 1", "c 1"}, nil, "a c", "", "a=1 c=1"},
		{"the first alternative whose version will do", []string{"a 1; b (>= 2) | c", "b 1", "c 1"}, nil, "a", "", "a=1 c=1"},
		{"a qualified name", []string{"a 1; python3:any (>= 3)", "python3 3.13"}, nil, "a", "", "a=1 python3=3.13"},
		{"a virtual package", []string{"a 1; mta", "exim 1; ; mta", "postfix 1; ; mta"}, nil, "a", "", "a=1 exim=1"},
		{"a virtual package that is at hand", []string{"a 1; postfix, mta", "exim 1; ; mta", "postfix 1; ; mta"}, nil, "a", "", "a=1 postfix=1"},
		{"a virtual package with a version", []string{"a 1; libssl3 (>= 3.0)", "libssl3t64 3.5; ; libssl3 (= 3.5)", "aaa 1; ; libssl3"}, nil, "a", "", "a=1 libssl3t64=3.5"},
		{"a real package before a provider", []string{"a 1; b", "b 1", "aa 1; ; b"}, nil, "a", "", "a=1 b=1"},
		{"a root that one package provides", []string{"libssl3t64 3.5; ; libssl3 (= 3.5)"}, nil, "libssl3", "", "libssl3t64=3.5"},
		{"a root that two packages provide", []string{"exim 1; ; mta", "postfix 1; ; mta"}, nil, "mta", "", "!it is virtual; name one of exim, postfix"},
		{"the highest version of all suites", []string{"a 1; b", "b 1"}, []string{"b 1+deb13u1; c", "c 1"}, "a", "", "a=1 b=1+deb13u1/s c=1/s"},
		{"main where security is behind", []string{"a 2"}, []string{"a 1"}, "a", "", "a=2"},
		{"main where both are equal", []string{"a 1"}, []string{"a 1"}, "a", "", "a=1"},
		{"an exact version that is not the highest", []string{"a 1; b (= 1)", "b 1"}, []string{"b 2"}, "a", "", "a=1 b=1"},
		{"a version that is not there", []string{"a 1; b (>= 2)", "b 1"}, nil, "a", "", "!package a 1 needs b (>= 2): have b 1"},
		{"two wants that exclude each other", []string{"a 1; b, c (= 1)", "b 1; c", "c 1"}, []string{"c 2"}, "c a", "", "!package a 1 needs c (= 1): have c 2"},
		{"without a package and what it needs", []string{"a 1; debconf (>= 0.5) | debconf-2.0, b", "debconf 1; perl", "cdebconf 1; ; debconf-2.0", "b 1"}, nil, "a", "debconf", "a=1 b=1"},
		{"without a pattern", []string{"a 1; perl:any, perl-base, b", "perl 5", "perl-base 5", "b 1"}, nil, "a", "perl*", "a=1 b=1"},
		{"without a provider", []string{"a 1; debconf-2.0", "cdebconf 1; ; debconf-2.0"}, nil, "a", "cdebconf", "a=1"},
		{"a dependency that there is not", []string{"a 1; b | c"}, nil, "a", "", "!package a 1 needs b | c: there is none in trixie for amd64"},
		{"a root that there is not", []string{"mdadm 1", "lvm2 1"}, nil, "mdamd", "", `!package "mdamd": there is none in trixie for amd64; did you mean "mdadm"?`},
		{"a broken dependency", []string{"a 1; b (oops 1)", "b 1"}, nil, "a", "", "!dependencies of a 1"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			x := &Index{client: Client{Origin: Origin{Suite: "trixie", Arch: spec.AMD64}}, tables: []*tables{suiteOf("m", row.main...), suiteOf("s", row.security...)}}
			packages, err := x.Closure(strings.Fields(row.roots), strings.Fields(row.without))
			if want, fails := strings.CutPrefix(row.want, "!"); fails {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %q", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range packages {
				word := p.Name + "=" + p.Version
				if p.Suite == "s" {
					word += "/s"
				}
				got = append(got, word)
			}
			if d := diff.Diff(strings.Fields(row.want), got); d != "" {
				t.Error(d)
			}
		})
	}
}

// The order is that of dpkg --compare-versions; the rows are its own cases and those that an archive lives by.
func TestCompare(t *testing.T) {
	for _, row := range []struct {
		a, sign, b string
	}{
		{"1.0", "=", "1.0"}, {"1.0", "<", "1.1"}, {"1.9", "<", "1.10"}, {"1.0~rc1", "<", "1.0"}, {"1.0~~", "<", "1.0~"}, {"1.0", "<", "1.0+b1"},
		{"1:0.9", ">", "2.0"}, {"0:1", "=", "1"}, {"1.0-1", "<", "1.0-1+deb13u1"}, {"1.0-1~deb13u1", "<", "1.0-1"}, {"1.0-1", "<", "1.0-1.1"},
		{"257.13-1~deb13u1", "<", "257.13-1~deb13u2"}, {"1.0-0", "=", "1.0"}, {"1.0a", "<", "1.0+"}, {"1.00", "=", "1.0"}, {"1-2-3", ">", "1-2-2"},
		{"2.4+20151223.gitfa8646d.1-2+b5", ">", "2.4+20151223.gitfa8646d.1-2+b4"}, {"1:1.3.dfsg+really1.3.1-1+b1", ">", "1:1.3.dfsg-3.1"},
		{"6.12.118-1", ">", "6.12.117-1"}, {"6.12~rc1", "<", "6.12"}, {"no version", "<", "0"},
	} {
		sign := map[int]string{-1: "<", 0: "=", 1: ">"}
		if got := sign[cmp.Compare(compare(row.a, row.b), 0)]; got != row.sign {
			t.Errorf("%s %s %s, want %s", row.a, got, row.b, row.sign)
		}
		back := map[string]string{"<": ">", "=": "=", ">": "<"}
		if got := sign[cmp.Compare(compare(row.b, row.a), 0)]; got != back[row.sign] {
			t.Errorf("%s %s %s, want %s", row.b, got, row.a, back[row.sign])
		}
	}
}
