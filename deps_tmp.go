//go:build tools

package grove

import (
	_ "github.com/ProtonMail/go-crypto/openpgp/clearsign"
	_ "github.com/containers/gvisor-tap-vsock/pkg/virtualnetwork"
	_ "github.com/diskfs/go-diskfs"
	_ "github.com/diskfs/go-diskfs/partition/gpt"
	_ "github.com/diskfs/go-diskfs/partition/mbr"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/insomniacslk/dhcp/dhcpv4/nclient4"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "github.com/therootcompany/xz"
	_ "github.com/ulikunitz/xz"
	_ "github.com/xi2/xz"
	_ "github.com/u-root/u-root/pkg/cpio"
	_ "github.com/u-root/u-root/cmds/core/ls"
	_ "github.com/u-root/gobusybox/src/pkg/bb"
	_ "github.com/vbauerster/mpb/v8"
	_ "github.com/vishvananda/netlink"
	_ "go.mongodb.org/mongo-driver/mongo"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sys/unix"
	_ "gopkg.in/yaml.v3"
	_ "pault.ag/go/debian/control"
	_ "pault.ag/go/debian/dependency"
	_ "pault.ag/go/debian/version"
	_ "pault.ag/go/debian/deb"
	_ "github.com/moby/sys/mountinfo"
)
