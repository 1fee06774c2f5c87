// Package node makes one node of many: it finds node.yaml, checks it, and decides the name and the small files of /etc that follow from it.
//
// It is called once, and again for what follows from the network. On EC2 node.yaml may be the instance's user data.
package node

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"grove/firstboot/disk"
	"grove/firstboot/status"
	"grove/internal/diag"
	"grove/internal/host"
	"grove/internal/load"
	"grove/internal/settings"
	"grove/internal/spec"
)

// Found is what the sources had: From names the first that had something, empty if none did. With Faults the file is refused whole.
type Found struct {
	Personal spec.Personal
	From     string
	Faults   diag.Findings
}

// Look asks the sources in their order; the first that has something wins, even if what it has is faulty: the next one would be a surprise. What could not
// be looked at comes as an error, beside what was found. root is where /sys and /proc are. cloud is the cloud's source, nil where there is none; it may take its time.
func Look(machine host.Machine, root string, medium disk.Medium, cloud func() ([]byte, error)) (Found, error) {
	data, err := bootPartition(machine, root, medium)
	if data != nil {
		return read("boot partition", spec.NodeFile, data), nil
	}
	if cloud != nil {
		data, cloudErr := cloud()
		if data != nil {
			return read("EC2 user data", "user data", data), err
		}
		err = errors.Join(err, cloudErr)
	}
	blob, blobErr := os.ReadFile(root + "/sys/firmware/qemu_fw_cfg/by_name/" + spec.NodeBlob + "/raw")
	if blobErr == nil {
		return read("fw_cfg", spec.NodeBlob, blob), err
	}
	cmdline, cmdErr := os.ReadFile(root + "/proc/cmdline")
	for _, word := range strings.Fields(string(cmdline)) {
		if name, found := strings.CutPrefix(word, "grove.hostname="); found {
			return read("kernel command line", "kernel command line", []byte("hostname: \""+name+"\"")), err
		}
	}
	return Found{}, errors.Join(err, cmdErr)
}

// bootPartition mounts it for a moment. nil without an error means that it has no node.yaml.
func bootPartition(machine host.Machine, root string, medium disk.Medium) (data []byte, err error) {
	if medium.Name == "" {
		return nil, nil // that is told elsewhere
	}
	dev, _, err := medium.Partition(disk.Boot)
	if err != nil {
		return nil, err
	}
	target := root + status.Dir + "/boot"
	if err := machine.Mount(host.Mount{Source: dev, Target: target, Type: "vfat", ReadOnly: true}); err != nil {
		return nil, err
	}
	data, err = os.ReadFile(filepath.Join(target, spec.NodeFile))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return data, errors.Join(err, machine.Unmount(target))
}

func read(from, file string, data []byte) Found {
	f := Found{From: from}
	source, faults := load.YAML(file, data, &f.Personal)
	settings.CheckPersonal(f.Personal, func(key, format string, values ...any) {
		faults = append(faults, source.Finding(key, fmt.Sprintf(format, values...)))
	})
	if f.Faults = faults; len(faults) > 0 {
		f.Personal = spec.Personal{}
	}
	return f
}

// Name decides: node.yaml's or the command line's, else what DHCP offers, else one of the MAC address.
func Name(found Found, dhcp string, mac net.HardwareAddr) (name, from string) {
	dhcp = strings.ToLower(dhcp)
	switch {
	case found.Personal.Hostname != "":
		return found.Personal.Hostname, found.From
	case dhcp != "" && settings.CheckHostname(dhcp) == "":
		return dhcp, "DHCP"
	case len(mac) >= 6:
		return fmt.Sprintf("grove-%x", []byte(mac[len(mac)-3:])), "MAC address"
	}
	return "grove", "no network"
}
