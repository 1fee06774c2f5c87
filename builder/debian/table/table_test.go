package table

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const index = `Package: libssl3t64
Source: openssl
Version: 3.5.9-1~deb13u1
Architecture: amd64
Provides: libssl3 (= 3.5.9-1~deb13u1), libssl-any
Depends: libc6 (>= 2.38),
 libzstd1 (>= 1.5.5)
Pre-Depends: openssl-base
Description: a library: with a colon
 Version: this is no field
Filename: pool/main/o/openssl/libssl3t64.deb
Size: 2464736
SHA256: 4967137e99422deb3b08e4eab8d6e756abfc826ef2c3744f50c1ab8ed053bf7e

Package: a+b
Version: 1:2
Architecture: all
Filename: pool/main/a/a+b.deb
Size: 5
SHA256: be3d7d96a040eda0505c1808cccc67f183bbc05dff0842c50f88e6c396557412
Provides: libssl-any

Package: a
Version: 1
Architecture: amd64
Filename: pool/main/a/a.deb
Size: 6
SHA256: 86b57edfb48a95696f0646a96ce24d70c350ad8bddd6842a534e5ff3bc0bcfa1`

func TestAnIndexIsFoundAgainInItsTables(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	if err := Reduce([]byte(index)).Write(dir); err != nil {
		t.Fatal(err)
	}
	table, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := table.Packages("libssl3t64")
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{{
		Name: "libssl3t64", Version: "3.5.9-1~deb13u1", Arch: "amd64", Source: "openssl", Filename: "pool/main/o/openssl/libssl3t64.deb",
		SHA256: "4967137e99422deb3b08e4eab8d6e756abfc826ef2c3744f50c1ab8ed053bf7e", Size: 2464736,
		Depends: "openssl-base, libc6 (>= 2.38), libzstd1 (>= 1.5.5)",
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantProviders := []Provider{{Name: "a+b", Version: "1:2"}, {Name: "libssl3t64", Version: "3.5.9-1~deb13u1"}}
	if d := cmp.Diff(wantProviders, table.Providers("libssl-any")); d != "" {
		t.Error(d)
	}
	if got := table.Providers("libssl3"); len(got) != 1 || got[0].As != "3.5.9-1~deb13u1" {
		t.Errorf("libssl3: got %+v", got)
	}
	if d := cmp.Diff([]string{"a", "a+b", "libssl3t64"}, table.Names()); d != "" {
		t.Error(d)
	}
}

func TestEveryRowIsFoundAndNothingElse(t *testing.T) {
	var text strings.Builder
	names := map[string]bool{}
	for i := range 500 {
		name := fmt.Sprintf("p%d", i*7919%1000)
		names[name] = true
		fmt.Fprintf(&text, "Package: %s\nVersion: %d\nFilename: f\nSize: %d\n\n", name, i, i)
	}
	fmt.Fprint(&text, "Package: p1\nVersion: second\nFilename: f\nSize: 1\n\n")
	table := Reduce([]byte(text.String()))
	for i := range 1000 {
		name := fmt.Sprintf("p%d", i)
		got, err := table.Packages(name)
		if err != nil {
			t.Fatal(err)
		}
		want := 0
		if names[name] {
			want++
		}
		if name == "p1" {
			want++
		}
		if len(got) != want {
			t.Errorf("%s: got %d rows, want %d", name, len(got), want)
		}
	}
	for _, absent := range []string{"", "p", "p9999", "zzz", "p1\t"} {
		if got, _ := table.Packages(absent); len(got) != 0 {
			t.Errorf("%q: got %+v", absent, got)
		}
	}
}

func TestAnEmptyIndex(t *testing.T) {
	table := Reduce(nil)
	if got, err := table.Packages("a"); len(got) != 0 || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	if got := table.Providers("a"); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}
