package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
)

// view is what a node's disks have become, as its own tools tell, part by part: array, groups, volumes, shares, /data, /log, /journal, link, swaps. What may differ from one
// boot to the next is left out: kernel names, the order of members, a resync under way.
type view map[string]string

func (v view) String() string {
	var parts []string
	for part, text := range v {
		parts = append(parts, part+": "+strings.ReplaceAll(text, "\n", "\n  "))
	}
	sort.Strings(parts)
	return strings.Join(parts, "\n")
}

// wants is an error unless every sight is there.
func (v view) wants(sights []sight) error {
	for _, s := range sights {
		if !regexp.MustCompile(s.pattern).MatchString(v[s.part]) {
			return fmt.Errorf("no %q in %s; it all is\n%s", s.pattern, s.part, v)
		}
	}
	return nil
}

// mounts are the places that storage can have.
var mounts = []string{"/data", "/log", "/journal"}

// look asks the node's tools at its shell.
func (r *rig) look(ctx context.Context) (view, error) {
	v := view{}
	for _, part := range []func(context.Context, view) error{r.arrays, r.volumes, r.mounted, r.swaps} {
		if err := part(ctx, v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

var (
	arrayLine  = regexp.MustCompile(`(?m)^(md\d+) : active (?:\(auto-read-only\) )?(raid\d+) .*\n\s+(.*)$`)
	superblock = regexp.MustCompile(`^(\d+) blocks (?:super 1\.2 )?`)
)

// arrays is, of each: `raid10 256K chunks 2 near-copies [4/4] [UUUU], 8379392 blocks`, and what mdadm exports of it.
func (r *rig) arrays(ctx context.Context, v view) error {
	stat, err := r.sh(ctx, "if test -e /proc/mdstat; then cat /proc/mdstat; fi")
	if err != nil {
		return err
	}
	var all []string
	for _, found := range arrayLine.FindAllStringSubmatch(stat, -1) {
		form := found[3]
		if blocks := superblock.FindStringSubmatch(form); blocks != nil {
			form = form[len(blocks[0]):] + ", " + blocks[1] + " blocks"
		}
		detail, err := r.sh(ctx, "mdadm --detail --export /dev/"+found[1])
		if err != nil {
			return err
		}
		all = append(all, found[2]+" "+form+"\n"+lines(detail, `^MD_(LEVEL|DEVICES|METADATA|UUID|NAME)=`))
	}
	v["array"] = strings.Join(all, "\n")
	return nil
}

// lines keeps those that match.
func lines(text, pattern string) string {
	var kept []string
	for _, line := range strings.Split(text, "\n") {
		if regexp.MustCompile(pattern).MatchString(line) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// lvmConfig is for a node without udev, locks of a file system or a file of devices.
const lvmConfig = `--config 'devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" } global { locking_dir="/run/grove" } activation { udev_sync=0 udev_rules=0 }'`

func (r *rig) volumes(ctx context.Context, v view) error {
	if mounted, err := r.sh(ctx, "cat /proc/mounts"); err != nil || !regexp.MustCompile(`(?m)^/dev/(mapper|grove)/`).MatchString(mounted) {
		return err
	}
	groups, err := r.sh(ctx, "lvm vgs "+lvmConfig+" --noheadings -o vg_name,pv_count,lv_count,vg_extent_count,vg_tags")
	if err != nil {
		return err
	}
	volumes, err := r.sh(ctx, "lvm lvs "+lvmConfig+" --noheadings --nosuffix --units k -o lv_name,lv_size")
	if err != nil {
		return err
	}
	physical, err := r.sh(ctx, "lvm pvs "+lvmConfig+" --noheadings -o pv_uuid,vg_name")
	if err != nil {
		return err
	}
	if f := strings.Fields(groups); len(f) >= 4 {
		groups = fmt.Sprintf("%s pvs=%s lvs=%s extents=%s tags=%s", f[0], f[1], f[2], f[3], strings.Join(f[4:], " "))
	}
	v["groups"], v["volumes"], v["pv"] = groups, trimmed(volumes), trimmed(physical)
	v["shares"] = shares(v["volumes"])
	return nil
}

func trimmed(text string) string {
	var all []string
	for _, line := range strings.Split(text, "\n") {
		all = append(all, strings.Join(strings.Fields(line), " "))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// shares makes `data 90%` of the sizes.
func shares(volumes string) string {
	var names []string
	sizes, sum := map[string]float64{}, 0.0
	for _, line := range strings.Split(volumes, "\n") {
		name, text, _ := strings.Cut(line, " ")
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "not a size: " + line
		}
		names, sizes[name], sum = append(names, name), n, sum+n
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.0f%%", name, 100*sizes[name]/sum)
	}
	return strings.Join(names, "\n")
}

// mounted is, of each place: type, options, and what blkid finds on the device.
func (r *rig) mounted(ctx context.Context, v view) error {
	table, err := r.sh(ctx, "cat /proc/mounts")
	if err != nil {
		return err
	}
	for _, line := range strings.Split(table, "\n") {
		f := strings.Fields(line)
		if len(f) < 4 || !slices.Contains(mounts, f[1]) {
			continue
		}
		found, err := r.sh(ctx, "blkid -p -o export "+f[0])
		if err != nil {
			return err
		}
		v[f[1]] = f[2] + " " + f[3] + "\n" + lines(found, `^(TYPE|UUID|LABEL)=`)
	}
	v["link"], err = r.sh(ctx, "if test -L /data/journal; then readlink /data/journal; fi")
	return err
}

var sdName = regexp.MustCompile(`^/dev/sd[a-z]`)

// swaps is, of each: `/state/swap file 262140`, and of a partition what blkid finds on it, its type too. sda and sdb may change places.
func (r *rig) swaps(ctx context.Context, v view) error {
	table, err := r.swapTable(ctx)
	if err != nil {
		return err
	}
	var all []string
	for _, line := range strings.Split(table, "\n")[1:] {
		if f := strings.Fields(line); len(f) >= 3 {
			all = append(all, sdName.ReplaceAllString(strings.Join(f[:3], " "), "/dev/sdX"))
			if !strings.HasPrefix(f[0], "/dev/sd") {
				continue
			}
			found, err := r.sh(ctx, "blkid -p -o export "+f[0])
			if err != nil {
				return err
			}
			all = append(all, lines(found, `^(TYPE|UUID|LABEL|PART_ENTRY_TYPE|PART_ENTRY_SCHEME)=`))
		}
	}
	v["swaps"] = strings.Join(all, "\n")
	return nil
}

// swapTable is /proc/swaps; the node brings its swap while mongod starts, so it is waited for if there is to be any.
func (r *rig) swapTable(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("no swap within a minute"))
	defer cancel()
	for {
		table, err := r.sh(ctx, "cat /proc/swaps")
		if err != nil || !r.swap || strings.Contains(table, "\n") {
			return table, err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// holds adds the files that mongod has open, which tell where it serves from.
func (r *rig) holds(ctx context.Context, v view) error {
	files, err := r.sh(ctx, "ls -l /proc/$(pidof mongod)/fd")
	if err != nil {
		return err
	}
	var all []string
	for _, line := range strings.Split(files, "\n") {
		if _, to, found := strings.Cut(line, " -> "); found && strings.HasPrefix(to, "/") {
			all = append(all, to)
		}
	}
	slices.Sort(all)
	v["mongod"] = strings.Join(slices.Compact(all), "\n")
	return nil
}
