package storage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grove/firstboot/facts"
	"grove/firstboot/facts/sysfs"
	"grove/firstboot/journal"
	"grove/firstboot/lvm"
	"grove/firstboot/mkfs"
	"grove/firstboot/plan/act"
	"grove/firstboot/plan/identity"
	"grove/firstboot/raid"
	"grove/internal/host"
)

// Hands is the node itself. Root stands before every path of files, empty but in tests.
type Hands struct {
	Host    host.Machine
	Root    string
	Looks   func(ctx context.Context, records []journal.Record) (facts.Have, error)
	Probes  func(ctx context.Context, dev string) (facts.Content, error)
	Modules func(names ...string) error // loads kernel modules
}

// Look see Machine.
func (h Hands) Look(ctx context.Context, records []journal.Record) (facts.Have, error) {
	return h.Looks(ctx, records)
}

// Probe see Machine.
func (h Hands) Probe(ctx context.Context, dev string) (facts.Content, error) {
	return h.Probes(ctx, h.path(dev))
}

// patience is how long a program may take. mkfs discards the whole device first, which on some takes minutes.
func patience(k act.Kind) time.Duration {
	if k == act.MakeFS || k == act.MakeSwapfile {
		return 30 * time.Minute
	}
	return 3 * time.Minute
}

// Do see Machine. The disks must still be those of the plan: names change when disks come and go.
func (h Hands) Do(ctx context.Context, a act.Act) error {
	if err := h.same(a.Disks); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience(a.Kind), fmt.Errorf("not done within %s", patience(a.Kind)))
	defer cancel()
	switch a.Kind {
	case act.CreateArray, act.Assemble, act.AddMember:
		return h.array(ctx, a)
	case act.CreatePV, act.CreateGroup, act.CreateVolume, act.Activate:
		return h.volumes(ctx, a)
	case act.MakeFS:
		return h.makeFS(ctx, a)
	case act.Mount:
		return h.mount(a)
	case act.Link:
		return h.link(a)
	case act.SealFS, act.CheckSeal:
		return h.seal(a)
	}
	return h.swap(ctx, a)
}

// path puts the root before a device that does not have it yet: those that were found have, those of the plan's own have not.
func (h Hands) path(dev string) string {
	if strings.HasPrefix(dev, h.Root) {
		return dev
	}
	return h.Root + dev
}

func (h Hands) same(disks []act.Disk) error {
	if len(disks) == 0 {
		return nil
	}
	now, err := sysfs.Disks(h.Root)
	if err != nil {
		return err
	}
	for _, want := range disks {
		if !slices.ContainsFunc(now, func(d sysfs.Disk) bool {
			return h.path("/dev/"+d.Name) == h.path(want.Dev) && d.Serial == want.Serial && d.Size == want.Size
		}) {
			return fmt.Errorf("%s is no longer the disk with serial number %q and %s", want.Dev, want.Serial, want.Size)
		}
	}
	return nil
}

func (h Hands) run(ctx context.Context, c host.Command, modules ...string) error {
	if err := h.Modules(modules...); err != nil {
		return err
	}
	_, err := h.Host.Run(ctx, c)
	return err
}

// array: what is added to runs already.
func (h Hands) array(ctx context.Context, a act.Act) error {
	if a.Kind == act.AddMember {
		return h.run(ctx, raid.Command(a))
	}
	if err := h.Modules("raid" + a.Level); err != nil {
		return err
	}
	_ = raid.Bound(h.Root, raid.Calm) // without the bound it only takes longer until the node serves
	return h.run(ctx, raid.Command(a))
}

func (h Hands) volumes(ctx context.Context, a act.Act) error {
	if err := h.Host.MakeDir(h.Root+"/run/grove/lvm", 0o700, 0, 0); err != nil {
		return err
	}
	on := a.Dev
	if a.Kind != act.CreatePV {
		on = a.From[0]
	}
	dev, err := lvm.Device(h.path(on))
	if err != nil {
		return err
	}
	return h.run(ctx, lvm.Command(a, dev), "dm_mod")
}

// makeFS looks once more into what it is to make anew: our own file system is without a file but those that mkfs makes, else it was in use.
func (h Hands) makeFS(ctx context.Context, a act.Act) error {
	if a.Redo {
		if err := h.empty(a); err != nil {
			return err
		}
	}
	return h.run(ctx, mkfs.Command(a))
}

// unreplayed are options with which a mount writes nothing to a file system that was not unmounted.
var unreplayed = map[string]string{"xfs": "norecovery", "ext4": "noload"}

func (h Hands) empty(a act.Act) error {
	if err := h.Modules(a.Type); err != nil {
		return err
	}
	target := h.Root + "/run/grove/look"
	if err := h.Host.Mount(host.Mount{Source: a.Dev, Target: target, Type: a.Type, ReadOnly: true, Data: unreplayed[a.Type]}); err != nil {
		return nil // not even a file system: what a cut-off mkfs leaves
	}
	held := foreignFiles(target)
	return errors.Join(held, h.Host.Unmount(target))
}

// foreignFiles tells of files that are not of our making.
func foreignFiles(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Name() != "lost+found" && !(e.Name() == "journal" && e.Type()&os.ModeSymlink != 0) && !strings.HasPrefix(e.Name(), act.SealFile) {
			names = append(names, e.Name())
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("it holds %s", strings.Join(names[:min(5, len(names))], ", "))
	}
	return nil
}

// mount makes the mount point so that nobody but root can write beside the file system when it is not there.
func (h Hands) mount(a act.Act) error {
	target := h.Root + a.On
	if err := h.Modules(a.Type); err != nil {
		return err
	}
	if err := h.Host.MakeDir(target, 0, 0, 0); err != nil {
		return err
	}
	if err := h.Host.Mount(host.Mount{Source: a.Dev, Target: target, Type: a.Type, Options: a.Options}); err != nil {
		return err
	}
	if there, err := h.Host.IsMountPoint(target); err != nil || !there {
		return errors.Join(fmt.Errorf("%s is mounted and yet not there", a.On), err)
	}
	return nil
}

func (h Hands) link(a act.Act) error {
	have, err := os.Readlink(h.Root + a.Dev)
	switch {
	case err == nil && have == a.On:
		return nil
	case errors.Is(err, os.ErrNotExist):
		return os.Symlink(a.On, h.Root+a.Dev)
	case err == nil:
		return fmt.Errorf("have a link to %s", have)
	}
	return err
}

// seal checks the seal, and writes it where there is none and nothing was put there yet.
func (h Hands) seal(a act.Act) error {
	file := filepath.Join(h.Root+a.Dev, act.SealFile)
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) && a.Kind == act.SealFS {
		if err := foreignFiles(h.Root + a.Dev); err != nil {
			return fmt.Errorf("%w, and no seal of this node", err)
		}
		text, err := json.MarshalIndent(a.Seal, "", "  ")
		if err != nil {
			return err
		}
		return journal.Replace(file, append(text, '\n'), 0o444)
	}
	var have act.Seal
	if err == nil {
		err = json.Unmarshal(text, &have)
	}
	const data = string(identity.Data) // more volumes may have come since
	if err == nil && (have.Cluster != a.Seal.Cluster || have.Node != a.Seal.Node || have.UUIDs[data] != a.Seal.UUIDs[data]) {
		err = fmt.Errorf("it is of %s/%s with UUID %s, want %s/%s with %s", have.Cluster, have.Node, have.UUIDs[data], a.Seal.Cluster, a.Seal.Node, a.Seal.UUIDs[data])
	}
	if err != nil {
		return fmt.Errorf("read the seal: %w", err)
	}
	return nil
}
