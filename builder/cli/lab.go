package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"grove/builder/artifact"
	"grove/builder/cache"
	"grove/builder/lab"
	"grove/builder/lab/bay"
	"grove/builder/lab/trial"
	"grove/builder/report"
	"grove/builder/secrets"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/size"
	"grove/internal/spec"
)

// labFlags say how many nodes, and what they boot from.
type labFlags struct {
	buildFlags
	nodes    int
	firmware string
	disk     string
	data     []string
	within   time.Duration
	cut      bool
}

func labVerb() *cobra.Command {
	c := &cobra.Command{Use: "lab", Short: "boot an image in QEMU, without root or KVM"}
	c.AddCommand(labUp(), labTest(), labSSH())
	onlyVerbs(c)
	return c
}

func (f *labFlags) add(c *cobra.Command) {
	f.buildFlags.add(c)
	c.Flags().IntVar(&f.nodes, "nodes", 0, "how many: the members of the recipe's set, then db1, db2, ... (default: all of the set, or 1)")
	c.PreRunE = func(c *cobra.Command, _ []string) error {
		if c.Flags().Changed("nodes") && (f.nodes < 1 || f.nodes > 50) {
			return usage{fmt.Errorf("--nodes: want 1 to 50, have %d", f.nodes)}
		}
		return nil
	}
	c.Flags().StringVar(&f.firmware, "firmware", "", "bios or uefi; of an Allwinner board u-boot (on QEMU's virt) or sunxi (boot ROM, SPL and U-Boot, on another board of Allwinner's) (default: the board's first)")
	c.Flags().StringVar(&f.disk, "disk", "virtio", "virtio or nvme")
	c.Flags().StringArrayVar(&f.data, "data", nil, "a blank data disk of each node beside it, as virtio,2GiB,serial=A1; also nvme, sata, usb, scsi, and file=CONTENT; repeatable (default: what the recipe's storage asks for)")
	c.Flags().DurationVar(&f.within, "within", 2*time.Minute, "longest time to mongod's answer, for each node")
}

func labUp() *cobra.Command {
	var f labFlags
	c := &cobra.Command{Use: "up RECIPE|IMAGE", Short: "boot it and leave it running until Ctrl-C, mongod on 127.0.0.1", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return up(c.Context(), args[0], f, c.OutOrStdout(), c.ErrOrStderr())
		}}
	f.add(c)
	return c
}

func labTest() *cobra.Command {
	var f labFlags
	c := &cobra.Command{Use: "test RECIPE|IMAGE", Short: "boot it, write to each mongod and read back, power it off in order; a verdict, junit.xml and the serial logs", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return test(c.Context(), args[0], f, c.OutOrStdout(), c.ErrOrStderr())
		}}
	f.add(c)
	c.Flags().BoolVar(&f.cut, "cut-power", false, "cut the power after the write, and look for the document once the node is back")
	return c
}

func up(ctx context.Context, what string, f labFlags, out, errs io.Writer) error {
	see := report.Steps(errs)
	defer see.Close()
	config, _, err := f.config(ctx, what, see, errs)
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, config)
	if err != nil {
		return err
	}
	err = l.Wait(ctx)
	if err == nil && l.HasSet() {
		err = gather(ctx, l, f, out)
	}
	if err == nil {
		for _, n := range l.Nodes() {
			fmt.Fprintln(out, nodeLine(n))
			fmt.Fprintf(out, "%s: grove lab ssh %s opens a shell; its status page is http://%s\n", n.Name, n.Name, n.Page)
		}
		fmt.Fprintf(out, "serial logs in %s; Ctrl-C ends the lab\n", l.Dir())
		err = l.Hold(ctx)
	}
	// What Ctrl-C ended must still be shut down in order.
	return errors.Join(err, l.Close(context.WithoutCancel(ctx)))
}

func gather(ctx context.Context, l *lab.Lab, f labFlags, out io.Writer) error {
	within, cancel := context.WithTimeout(ctx, f.within*time.Duration(len(l.Nodes())))
	defer cancel()
	set, err := l.Gather(within)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, set)
	if login, err := secrets.Read(l.Secrets()); err == nil {
		fmt.Fprintf(out, "mongod's operator is %s; the password is in %s\n", login.Operator.User, l.Secrets())
	}
	return nil
}

func test(ctx context.Context, what string, f labFlags, out, errs io.Writer) error {
	start := time.Now()
	see := report.Steps(errs)
	defer see.Close()
	config, built, err := f.config(ctx, what, see, errs)
	if err != nil {
		return err
	}
	v, err := trial.Run(ctx, trial.Config{Config: config, CutPower: f.cut})
	if err != nil {
		return err
	}
	if f.asJSON {
		if err := writeJSON(out, v); err != nil {
			return err
		}
	} else {
		for _, c := range v.Checks {
			verdict := "ok    "
			if c.Fault != "" {
				verdict = "FAILED"
			}
			fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%s %s: %s (%.1f s) %s", verdict, c.Node, c.Name, c.Took.Seconds(), c.Fault), " "))
		}
		fmt.Fprintf(out, "verdict in %s, serial logs beside it\n", v.JUnit)
	}
	if !v.Passed {
		return fmt.Errorf("the trial of %s failed", config.Image.Name)
	}
	if f.asJSON {
		return nil
	}
	if v.Set != nil {
		fmt.Fprintln(out, *v.Set)
	}
	for _, n := range v.Nodes {
		fmt.Fprintf(out, "%s; image %.1f s, all %.1f s\n", nodeLine(n), built.Seconds(), time.Since(start).Seconds())
	}
	return nil
}

// nodeLine is `db1: mongod 6.0.5 answers on 127.0.0.1:41233 (10.5.0.11 in the lab) after 18.2 s: ...`.
func nodeLine(n lab.Status) string {
	return fmt.Sprintf("%s: mongod %s answers on %s (%s in the lab) after %s", n.Name, n.Version, n.Forward, n.Address, n.Times)
}

// config builds a recipe, or takes an image, and says how it is booted. The time is what the build took.
func (f labFlags) config(ctx context.Context, what string, see *report.Report, errs io.Writer) (lab.Config, time.Duration, error) {
	if f.firmware != "" && !slices.Contains(lab.Firmwares(), f.firmware) {
		return lab.Config{}, 0, usage{fmt.Errorf("--firmware: want %s, have %q", strings.Join(lab.Firmwares(), ", "), f.firmware)}
	}
	if f.disk != "virtio" && f.disk != "nvme" {
		return lab.Config{}, 0, usage{fmt.Errorf("--disk: want virtio or nvme, have %q", f.disk)}
	}
	if f.within <= 0 {
		return lab.Config{}, 0, usage{fmt.Errorf("--within: want a time such as 2m, have %s", f.within)}
	}
	start := time.Now()
	path := what
	if !isImage(what) {
		r, err := makeImage(ctx, what, f.buildFlags, errs)
		if err != nil {
			return lab.Config{}, 0, err
		}
		path = r.Artifact.Path
	}
	a, err := artifact.Open(path)
	if err != nil {
		return lab.Config{}, 0, err
	}
	kept, err := cache.Default()
	if err != nil {
		return lab.Config{}, 0, err
	}
	img := booted(a)
	c := lab.Config{Image: lab.Image{Name: strings.TrimSuffix(filepath.Base(a.Path), ".img"), Path: a.Path, Arch: img.Board.Arch, Lab: machine(a), Storage: img.Storage != nil, Page: img.Settings.Status.Port,
		Set: img.Settings.ReplicaSet, Hosts: img.Settings.Network.Hosts, Open: mongoconf.Open(img.Mongod.Config)}, Firmware: f.firmware, Bus: f.disk,
		Chain: filepath.Join(kept, "chain"), Dir: filepath.Join(f.out, "lab"), Boot: f.within, Host: host.Real{},
		See: func(e lab.Event) { see.Node(e.Node, e.At, e.Topic, e.Text) }}
	disks, err := f.disks(a)
	for _, name := range names(img.Settings.ReplicaSet, f.nodes) {
		c.Nodes = append(c.Nodes, spec.Personal{Hostname: name})
		c.Disks = append(c.Disks, disks)
	}
	return c, time.Since(start), err
}

// names are as many as asked for: the set's own, then db1, db2, ... as far as they are not taken.
func names(set spec.ReplicaSet, n int) (names []string) {
	for _, m := range set.Members {
		names = append(names, m.Host)
	}
	if n == 0 {
		n = max(len(names), 1)
	}
	for i := 1; len(names) < n; i++ {
		if name := fmt.Sprintf("db%d", i); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names[:n]
}

// disks are those named on the command line, or else what the image's storage asks for.
func (f labFlags) disks(a artifact.Artifact) (disks []bay.Disk, err error) {
	for _, text := range f.data {
		d, err := bay.Parse(text)
		if err != nil {
			return nil, usage{fmt.Errorf("--data %s: %w", text, err)}
		}
		disks = append(disks, d)
	}
	img := booted(a)
	if len(disks) > 0 || img.Storage == nil && len(img.Swap) == 0 {
		return disks, nil
	}
	if f.disk == "nvme" && img.Storage != nil {
		return nil, usage{errors.New("with --disk nvme the first virtio disk is called vda: give --data for each disk of the recipe")}
	}
	if disks, err = bay.For(img.Storage, img.Swap); err != nil {
		return nil, usage{fmt.Errorf("%w; give --data for each disk of the recipe", err)}
	}
	return disks, nil
}

func isImage(what string) bool {
	if strings.HasSuffix(what, ".img") || strings.HasSuffix(what, ".manifest.json") {
		return true
	}
	_, err := os.Stat(what + ".img")
	return err == nil && !strings.HasSuffix(what, ".yaml")
}

// booted is what the manifest says of it; an image that comes without one says nothing.
func booted(a artifact.Artifact) (img spec.Image) {
	if a.Manifest != nil {
		_ = json.Unmarshal(a.Manifest.Spec, &img) // one of another version of Grove says what it can
	}
	return img
}

// machine is what the image's board has in QEMU, or what any board does with.
func machine(a artifact.Artifact) spec.Lab {
	m := booted(a).Board.Lab
	if m.Machine == "" {
		m = spec.Lab{Machine: "q35", CPU: "max", CPUs: 2, Memory: 2 * size.GiB, Disk: 8 * size.GiB}
	}
	m.Disk = max(m.Disk, a.Size.Up(size.MiB)) // no medium is smaller than what is put on it
	return m
}
