package tuning

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"grove/firstboot/facts/proc"
	"grove/firstboot/facts/sysfs"
)

// Devices gives what lies under these mount points, from the file system down: volume, array, disks, each once. A partition's queue is its disk's. It reads some ten files.
func Devices(root string, mountpoints []string) ([]Device, error) {
	mounts, err := proc.Mounts(root, sysfs.Numbers(root))
	if err != nil {
		return nil, fmt.Errorf("find the disks under %s: %w", strings.Join(mountpoints, ", "), err)
	}
	var names []string
	for _, m := range mounts {
		if slices.Contains(mountpoints, m.Target) && m.Kernel != "" {
			names = below(root, m.Kernel, names)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(layer(a)+a, layer(b)+b) })
	var devices []Device
	for _, name := range names {
		devices = append(devices, device(root, name))
	}
	return devices, nil
}

// below adds a device and those that it is made of.
func below(root, name string, names []string) []string {
	dir, err := filepath.EvalSymlinks(root + "/sys/class/block/" + name)
	if err == nil && exists(dir+"/partition") {
		name = filepath.Base(filepath.Dir(dir))
	}
	if slices.Contains(names, name) {
		return names
	}
	names = append(names, name)
	slaves, _ := os.ReadDir(root + "/sys/class/block/" + name + "/slaves")
	for _, s := range slaves {
		names = below(root, s.Name(), names)
	}
	return names
}

func device(root, name string) Device {
	queue := root + "/sys/block/" + name + "/queue/"
	d := Device{Name: name, Layer: layer(name), Virtual: strings.HasPrefix(name, "vd") || strings.HasPrefix(name, "xvd")}
	rotational, _ := os.ReadFile(queue + "rotational")
	d.Rotational = strings.TrimSpace(string(rotational)) == "1"
	if offered, err := os.ReadFile(queue + "scheduler"); err == nil && d.Layer == "disk" {
		d.Schedulers = strings.Fields(strings.NewReplacer("[", "", "]", "").Replace(string(offered)))
	}
	return d
}

func layer(name string) string {
	for _, l := range []string{"dm", "md"} {
		if rest, is := strings.CutPrefix(name, l); is && strings.Trim(rest, "-_0123456789dp") == "" {
			return l
		}
	}
	return "disk"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
