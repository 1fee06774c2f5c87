// Package lvm has the command lines of LVM for the acts on groups and volumes.
//
// A node has no udev, no /etc/lvm and no daemons, so all of that is switched off on the command line; LVM makes its own device nodes. It is shown the one device
// of ours and no other. Copies of its metadata would lie in RAM and are not made.
package lvm

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/internal/host"
)

// config is for a machine on which only this device counts.
func config(dev string) string {
	return strings.Join([]string{
		"activation { udev_sync=0 udev_rules=0 monitoring=0 }",
		`devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" multipath_component_detection=0 ` +
			`global_filter=["a|^` + regexp.QuoteMeta(dev) + `$|","r|.*|"] }`,
		`global { use_lvmpolld=0 event_activation=0 notify_dbus=0 locking_dir="/run/grove/lvm" }`,
		"backup { backup=0 archive=0 }",
	}, " ")
}

// Command does the act. dev is the device of the physical volume, without links: LVM compares names.
//
// Volumes are made as they are, without zeros at their start and without a look for old signatures: the node looks itself, and stops at one.
func Command(a act.Act, dev string) host.Command {
	var args []string
	switch a.Kind {
	case act.CreatePV:
		args = []string{"pvcreate", "--uuid", a.UUID, "--norestorefile", dev}
	case act.CreateGroup:
		args = []string{"vgcreate"}
		for _, t := range a.Tags {
			args = append(args, "--addtag", t)
		}
		args = append(args, a.Label, dev)
	case act.CreateVolume:
		args = []string{"lvcreate", "--zero", "n", "--wipesignatures", "n", "--name", a.Label, "--extents", fmt.Sprintf("%d%%VG", a.Percent), identity.Group}
	case act.Activate:
		args = []string{"vgchange", "--activate", "y", identity.Group}
	default:
		panic(fmt.Sprintf("BUG: %s is not done by LVM", a.Kind))
	}
	return host.Command{Path: "/usr/sbin/lvm", Args: append([]string{args[0], "--config", config(dev)}, args[1:]...), Env: []string{"LVM_SUPPRESS_FD_WARNINGS=1"}}
}

// Device gives the name that LVM knows the physical volume by.
func Device(dev string) (string, error) {
	real, err := filepath.EvalSymlinks(dev)
	if err != nil {
		return "", fmt.Errorf("find the device behind %s: %w", dev, err)
	}
	return real, nil
}
