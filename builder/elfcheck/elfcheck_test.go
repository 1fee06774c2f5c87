package elfcheck

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

const libs = "lib/x86_64-linux-gnu/"

// sound is a small system on which mongod can start.
func sound() Tree {
	return Tree{
		Objects: map[string]Object{
			"bin/mongod": {Arch: "amd64", Interp: "/lib64/ld-linux-x86-64.so.2", Needed: []string{"libssl.so.3", "libm.so.6", "libc.so.6"}, Wants: []Want{
				{"libssl.so.3", []string{"OPENSSL_3.0.0"}}, {"libm.so.6", []string{"GLIBC_2.29"}}, {"libc.so.6", []string{"GLIBC_2.34", "GLIBC_2.4"}}}},
			libs + "libssl.so.3": {Arch: "amd64", Needed: []string{"libc.so.6"}, Gives: []string{"OPENSSL_3.0.0", "OPENSSL_3.2.0"},
				Wants: []Want{{"libc.so.6", []string{"GLIBC_2.34"}}}},
			libs + "libm.so.6":            {Arch: "amd64", Gives: []string{"GLIBC_2.2.5", "GLIBC_2.29"}},
			libs + "libc.so.6":            {Arch: "amd64", Gives: []string{"GLIBC_2.2.5", "GLIBC_2.4", "GLIBC_2.34", "GLIBC_2.36", "GLIBC_PRIVATE"}},
			libs + "ld-linux-x86-64.so.2": {Arch: "amd64"},
		},
		Links: map[string]string{"lib64": "lib/x86_64-linux-gnu"},
	}
}

func change(t *Tree, file string, f func(*Object)) {
	o := t.Objects[file]
	f(&o)
	t.Objects[file] = o
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Tree)
		want   []string
	}{
		{"nothing is wrong", func(*Tree) {}, nil},
		{"another processor's program", func(t *Tree) { change(t, "bin/mongod", func(o *Object) { o.Arch = "arm64" }) },
			[]string{"bin/mongod: is for arm64, the board is amd64"}},
		{"a library is missing, and its package is named", func(t *Tree) { delete(t.Objects, libs+"libssl.so.3") },
			[]string{"bin/mongod: needs libssl.so.3, which is not on the library path; look for it in the Debian package libssl3t64"}},
		{"a library that many need is one finding", func(t *Tree) { delete(t.Objects, libs+"libc.so.6") },
			[]string{"bin/mongod: needs libc.so.6, which is not on the library path; so does " + libs + "libssl.so.3"}},
		{"the loader is missing", func(t *Tree) { delete(t.Links, "lib64") },
			[]string{"bin/mongod: wants the loader /lib64/ld-linux-x86-64.so.2, which is not there"}},
		{"the loader by another link", func(t *Tree) { t.Links = map[string]string{"lib64": "/usr/lib/x86_64-linux-gnu"} }, nil},
		{"a link that ends in itself", func(t *Tree) { t.Links = map[string]string{"lib64": "lib32", "lib32": "lib64"} },
			[]string{"bin/mongod: wants the loader /lib64/ld-linux-x86-64.so.2, which is not there"}},
		{"a library by two links", func(t *Tree) {
			t.Objects[libs+"libssl.so.3.5"] = t.Objects[libs+"libssl.so.3"]
			delete(t.Objects, libs+"libssl.so.3")
			t.Links[libs+"libssl.so.3"] = "./libssl.so.3.x"
			t.Links[libs+"libssl.so.3.x"] = "/lib/x86_64-linux-gnu/libssl.so.3.5"
		}, nil},
		{"a private library by RUNPATH", func(t *Tree) {
			change(t, "bin/mongod", func(o *Object) { o.Needed, o.Path = append(o.Needed, "libown.so"), []string{"$ORIGIN/../lib/own"} })
			t.Objects["lib/own/libown.so"] = Object{Arch: "amd64"}
		}, nil},
		{"a private library without RUNPATH", func(t *Tree) {
			change(t, "bin/mongod", func(o *Object) { o.Needed = append(o.Needed, "libown.so") })
			t.Objects["lib/own/libown.so"] = Object{Arch: "amd64"}
		}, []string{"bin/mongod: needs libown.so, which is not on the library path"}},
		{"a newer glibc, with the suite that has it", func(t *Tree) {
			change(t, "bin/mongod", func(o *Object) {
				o.Wants[1].Versions, o.Wants[2].Versions = []string{"GLIBC_2.35"}, []string{"GLIBC_2.4", "GLIBC_2.37", "GLIBC_2.38"}
			})
		}, []string{"bin/mongod: needs GLIBC_2.38, the system's libc6 has up to 2.36; a newer suite (trixie) would do"}},
		{"a glibc that no suite has", func(t *Tree) {
			change(t, "bin/mongod", func(o *Object) { o.Wants[2].Versions = []string{"GLIBC_2.99"} })
		}, []string{"bin/mongod: needs GLIBC_2.99, the system's libc6 has up to 2.36; no suite up to trixie has that"}},
		{"versions compare as numbers", func(t *Tree) {
			change(t, libs+"libc.so.6", func(o *Object) { o.Gives = []string{"GLIBC_2.4", "GLIBC_2.9"} })
		}, []string{"bin/mongod: needs GLIBC_2.34, the system's libc6 has up to 2.9; a newer suite (bookworm) would do; so does " + libs + "libssl.so.3"}},
		{"another build of a library", func(t *Tree) {
			change(t, libs+"libssl.so.3", func(o *Object) { o.Gives = []string{"OPENSSL_4.0.0"} })
		}, []string{"bin/mongod: needs OPENSSL_3.0.0 of libssl.so.3; the one in the tree has OPENSSL_4.0.0"}},
		{"a library without versions is taken as it is", func(t *Tree) {
			change(t, libs+"libssl.so.3", func(o *Object) { o.Gives = nil })
		}, nil},
		{"a file of the same name that is no library", func(t *Tree) {
			delete(t.Objects, libs+"libssl.so.3")
			t.Links[libs+"libssl.so.3"] = "libssl.txt"
		}, []string{"bin/mongod: needs libssl.so.3, which is not on the library path; look for it in the Debian package libssl3t64"}},
		{"two faults are both found", func(t *Tree) {
			delete(t.Objects, libs+"libm.so.6")
			delete(t.Links, "lib64")
		}, []string{"bin/mongod: wants the loader /lib64/ld-linux-x86-64.so.2, which is not there", "bin/mongod: needs libm.so.6, which is not on the library path"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := sound()
			c.change(&tree)
			var got []string
			for _, f := range Check(tree, spec.AMD64, func(soname string) string {
				if soname == "libssl.so.3" {
					return "look for it in the Debian package libssl3t64"
				}
				return ""
			}) {
				got = append(got, f.String())
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("findings differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestAdviceIsAskedOnceALibrary(t *testing.T) {
	tree, asked := sound(), 0
	delete(tree.Objects, libs+"libc.so.6")
	Check(tree, spec.AMD64, func(string) string { asked++; return "" })
	if asked != 1 {
		t.Errorf("asked %d times; want once for both files that need it", asked)
	}
}

func TestMissing(t *testing.T) {
	tree := sound()
	delete(tree.Objects, libs+"libssl.so.3")
	delete(tree.Objects, libs+"libc.so.6")
	if got := strings.Join(Missing(tree, spec.AMD64), " "); got != "libc.so.6 libssl.so.3" {
		t.Errorf("got %q", got)
	}
	if got := Missing(sound(), spec.AMD64); got != nil {
		t.Errorf("got %q; want none missing", got)
	}
	if got := len(Missing(sound(), spec.ARM64)); got != 3 {
		t.Errorf("got %d; the folder of another arch is not on the path, so all 3 are missing", got)
	}
}

func TestPackages(t *testing.T) {
	for soname, want := range map[string]string{
		"libssl.so.3": "libssl3", "libcrypto.so.3": "libssl3", "libcurl.so.4": "libcurl4", "libgcc_s.so.1": "libgcc-s1", "libsasl2.so.2": "libsasl2-2",
		"libgssapi_krb5.so.2": "libgssapi-krb5-2", "libdevmapper.so.1.02.1": "libdevmapper1.02.1", "libz.so.1": "zlib1g", "libc.so.6": "libc6", "libe2p.so.2": "libext2fs2", "libown.so": "",
	} {
		got := ""
		if names := Packages(soname); names != nil {
			got = names[0]
		}
		if got != want {
			t.Errorf("%s: got %q; want %q", soname, got, want)
		}
	}
}
