package kernel

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/spec"
)

// cloud is a kernel with the traps of the real ones: names with '-', softdeps that name aliases, needs that no .modinfo tells.
func cloud() *tree {
	t := &tree{release: "6.1.0", files: map[string]string{}, builtin: map[string]bool{"ext4": true, "nvme": true, "sha256": true}, read: map[string]module{}}
	for n, m := range map[string]module{
		"virtio_net":     {depends: []string{"net_failover"}, alias: []string{"virtio:d00000001v*"}},
		"net_failover":   {depends: []string{"failover"}},
		"failover":       {},
		"fat":            {depends: []string{"ext4"}},
		"vfat":           {depends: []string{"fat"}, alias: []string{"fs-vfat"}},
		"nls_cp437":      {},
		"nls_ascii":      {},
		"loop":           {alias: []string{"devname:loop-control", "block-major-7-*"}},
		"xfs":            {depends: []string{"libcrc32c"}, alias: []string{"fs-xfs"}},
		"libcrc32c":      {soft: []string{"crc32c", "sha256", "nobody"}},
		"jbd3":           {soft: []string{"crypto_crc32c"}},
		"crc32c_generic": {alias: []string{"crc32c"}},
		"torn":           {depends: []string{"absent"}},
	} {
		t.files[n], t.read[n] = n+".ko", m
	}
	return t
}

func TestPick(t *testing.T) {
	for _, test := range []struct {
		name         string
		boot, system []string
		want         map[string][]string // of both sets: needs by name
		load         []string
		inSystem     []string
	}{
		{
			name: "what a module depends on comes along, each with its own needs",
			boot: []string{"virtio_net"},
			want: map[string][]string{"virtio_net": {"net_failover"}, "net_failover": {"failover"}, "failover": {}},
		},
		{
			name: "a name may be written with a dash",
			boot: []string{"virtio-net"},
			want: map[string][]string{"virtio_net": {"net_failover"}, "net_failover": {"failover"}, "failover": {}},
		},
		{
			name: "what is built in is left out, named or needed",
			boot: []string{"ext4", "nvme", "fat"},
			want: map[string][]string{"fat": {}},
			load: []string{"fat"},
		},
		{
			name: "vfat brings the character sets that its depends leaves out, and is loaded unasked",
			boot: []string{"vfat"},
			want: map[string][]string{"vfat": {"nls_cp437", "nls_ascii", "fat"}, "nls_cp437": {}, "nls_ascii": {}, "fat": {}},
			load: []string{"vfat"},
		},
		{
			name: "a softdep that names an alias is the generic module; one that is built in or provided by nothing is passed over",
			boot: []string{"jbd3"}, system: []string{"xfs"},
			want: map[string][]string{"jbd3": {"crc32c_generic"}, "crc32c_generic": {}, "xfs": {"libcrc32c"}, "libcrc32c": {"crc32c_generic"}},
			load: []string{"jbd3"}, inSystem: []string{"libcrc32c", "xfs"},
		},
		{
			name: "an alias that is no device's does not ask for its module",
			boot: []string{"loop"},
			want: map[string][]string{"loop": {}},
			load: []string{"loop"},
		},
		{
			name: "the system never holds what the initramfs has",
			boot: []string{"loop"}, system: []string{"loop", "failover"},
			want: map[string][]string{"loop": {}, "failover": {}},
			load: []string{"loop"}, inSystem: []string{"failover"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := pick(cloud(), test.boot, test.system)
			if err != nil {
				t.Fatal(err)
			}
			needs, where := map[string][]string{}, map[string]bool{}
			for _, n := range test.inSystem {
				where[n] = true
			}
			for _, set := range []spec.Modules{got.boot, got.system} {
				for n, m := range set.Modules {
					needs[n] = m.Needs
				}
			}
			for n := range got.system.Modules {
				if !where[n] {
					t.Errorf("%s is in the system", n)
				}
			}
			if diff := cmp.Diff(test.want, needs); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(append([]string{}, test.load...), got.boot.Load); diff != "" {
				t.Errorf("load (-want +got):\n%s", diff)
			}
			if len(got.system.Load) != 0 || len(got.system.Modules) != len(test.inSystem) {
				t.Errorf("system: got %v to load of %d modules; want none of %d", got.system.Load, len(got.system.Modules), len(test.inSystem))
			}
		})
	}
}

func TestPickTellsAllUnknownNames(t *testing.T) {
	_, err := pick(cloud(), []string{"virtio_nett", "nvme"}, []string{"qqq", "torn"})
	want := []string{
		`kernel.boot[0]: kernel 6.1.0 has no module "virtio_nett"; did you mean "virtio_net"?`,
		`kernel.system[0]: kernel 6.1.0 has no module "qqq"`,
		`the module torn needs absent, which kernel 6.1.0 does not have`,
	}
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) || err.Error() != strings.Join(want, "\n") {
		t.Errorf("got %v; want\n%s", err, strings.Join(want, "\n"))
	}
}
