package payload

import (
	"fmt"
	"strings"
	"testing"

	"grove/internal/spec"
)

func TestWanted(t *testing.T) {
	asked := []string{"util-linux", "htop"}
	for _, c := range []struct {
		name, file string
		want       bool
	}{
		{"util-linux", "usr/sbin/blkid", true},
		{"util-linux", "usr/lib/systemd/system/fstrim.timer", false},
		{"util-linux", "usr/share/man/man8/blkid.8.gz", false},
		{"util-linux", "usr/share/doc/util-linux/copyright", true},
		{"util-linux", "usr/share/doc/util-linux/changelog.gz", false},
		{"util-linux", "etc/pam.d/su", false},
		{"htop", "usr/bin/htop", true},
		{"htop", "usr/lib/x86_64-linux-gnu/htop/plugin.so", true},
		{"htop", "usr/share/applications/htop.desktop", false},
		{"libc6", "usr/lib/x86_64-linux-gnu/libc.so.6", true},
		{"libc6", "usr/lib64/ld-linux-x86-64.so.2", true},
		{"libc6", "usr/lib/x86_64-linux-gnu/gconv/UTF-16.so", false},
		{"libc6", "usr/bin/ldd", false},
		{"libgcc-s1", "usr/share/doc/libgcc-s1", true}, // a link to the folder of gcc-14-base
		{"libgcc-s1", "usr/lib/aarch64-linux-gnu/libgcc_s.so.1", false},
	} {
		if got := wanted(c.name, roleOf(c.name, asked), spec.AMD64, c.file); got != c.want {
			t.Errorf("%s of %s: got %v; want %v", c.file, c.name, got, c.want)
		}
	}
}

func TestChosen(t *testing.T) {
	links := map[string]string{"sbin/pvs": "lvm", "sbin/other": "/usr/sbin/lvm", "sbin/vi": "fsadm"}
	files := []string{"sbin/fsadm", "sbin/lvm", "sbin/lvmdump", "sbin/other", "sbin/pvs", "sbin/vi"}
	take, lacks := chosen("lvm2", files, links)
	if got := strings.Join(take, " "); got != "sbin/lvm sbin/other sbin/pvs" || lacks != nil {
		t.Errorf("got %q, lacks %q; want lvm and the links to it", got, lacks)
	}
	if _, lacks := chosen("fdisk", []string{"sbin/fdisk"}, nil); fmt.Sprint(lacks) != "[sfdisk]" {
		t.Errorf("lacks %q; want sfdisk", lacks)
	}
}

func TestWithout(t *testing.T) {
	if got := Without([]string{"mdadm", "util-linux"}); len(got) == 0 {
		t.Error("nothing is left out of the house's own packages")
	}
	if got := Without([]string{"mdadm", "htop"}); got != nil {
		t.Errorf("beside a recipe's own package %v is left out; want nothing", got)
	}
}
