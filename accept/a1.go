package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"grove/internal/host"
)

// a1: from a recipe to a booted node with a real mongod (amd64).
func a1() []check {
	list := []check{
		{name: "a1.1", says: "a fresh clone, nothing prepared: make demo, then make test, within 15 minutes with empty caches", within: 30 * time.Minute, run: freshClone,
			notCI: "CI is itself a fresh clone that runs both"},
		{name: "a1.2.bios-virtio", says: "boots by SeaBIOS from a virtio disk to mongod's answer, the image unchanged", within: 5 * time.Minute, run: boots("bios", "virtio")},
		{name: "a1.2.bios-nvme", says: "boots by SeaBIOS from NVMe to mongod's answer, the image unchanged", within: 5 * time.Minute, run: boots("bios", "nvme")},
		{name: "a1.2.uefi-nvme", says: "boots by OVMF from NVMe to mongod's answer, the image unchanged", within: 5 * time.Minute, run: boots("uefi", "nvme")},
		{name: "a1.3", says: "built twice, and once more with --lock and --offline in another folder: three equal sha256", within: 10 * time.Minute, run: reproducible},
		{name: "a1.4.sgdisk", says: "sgdisk -v finds no problem", within: 4 * time.Minute, run: judgeTable},
		{name: "a1.4.fat", says: "fsck.vfat -n is content with GROVE-BOOT", within: 4 * time.Minute, run: judgeFAT},
		{name: "a1.4.ext4", says: "e2fsck -fn is content with state", within: 4 * time.Minute, run: judgeExt4},
		{name: "a1.4.squashfs", says: "unsquashfs -l lists every file of the system's tree", within: 4 * time.Minute, run: judgeSquashfs},
		{name: "a1.4.cpio", says: "cpio -t reads every part of the initramfs", within: 4 * time.Minute, run: judgeCpio},
		{name: "a1.4.fat-sizes", says: "the FAT writer is clean for every size from 33 to 600 MiB with sub-folders, and writes 60 MB in under a second", within: 10 * time.Minute,
			run: goTest("./internal/filesystem", "TestFATOf|Test60MB|TestFilesAreRead")},
		{name: "a1.5", says: "one setting of mongod changed: built again within 1.5 s, saying what and why; nothing changed: within 1 s, saying so", within: 10 * time.Minute, run: rebuilds},
	}
	list = append(list, badInput()...)
	return append(list,
		check{name: "a1.6.interrupted", says: "Ctrl-C at several moments: exit code 130, nothing left, the next build is whole", within: 10 * time.Minute, run: interrupted},
		check{name: "a1.6.two-builds", says: "two builds at once in one empty cache: both done, equal sha256", within: 10 * time.Minute, run: together},
		check{name: "a1.6.tarball", says: "the production recipe's way: a tarball of mongod by url and sha256, served on loopback, is built", within: 10 * time.Minute, run: tarball},
		check{name: "a1.7", says: "agent killed: mongod's pid unchanged, agent back within 2 s; mongod killed: restarted; power-off: clean shutdown in mongod's log; agent at most 40 MiB",
			within: 8 * time.Minute, run: node,
			notCI: "its 2 s are of a machine with nothing else to do; CI runs a1.2 and a2.5.run"},
		check{name: "a1.8", says: "beside mkosi and Debian + cloud-init in one run: cold build 4 times, rebuild 10 times as fast, mongod's answer in half the time, image at most 90 MB in zstd -3",
			within: time.Hour, run: besidePeers, notCI: "35 minutes; needs root and the peers' scripts"},
		check{name: "a1.9", says: "the figures: cold and warm build, sizes, times of a boot", within: 15 * time.Minute, run: figures, notCI: "CI's machine is shared; a1.2 and a5.1.same print theirs"},
	)
}

// freshClone does what README says, as somebody who has never seen it.
func freshClone(ctx context.Context, b *bench) (string, error) {
	dir := filepath.Join(b.folder("clone"), "grove")
	if r := b.program(ctx, host.Command{Path: "git", Args: []string{"clone", "-q", ".", dir}}); r.code != 0 {
		return "", errors.New(r.out)
	}
	empty := b.folder("caches")
	env := []string{"GROVE_CACHE=" + empty + "/grove", "GOCACHE=" + empty + "/go", "GOMODCACHE=" + empty + "/mod", "GOFLAGS=-modcacherw"}
	demo := b.program(ctx, host.Command{Path: "make", Args: []string{"demo"}, Dir: dir, Env: env})
	if demo.code != 0 {
		return "", fmt.Errorf("make demo: %s", demo.out)
	}
	last := lastLine(demo.out)
	if !regexp.MustCompile(`^\S+: mongod 6\.0\.5 .*127\.0\.0\.1:\d+.* s`).MatchString(last) {
		return "", fmt.Errorf("make demo ends with %q; want node, mongod's version, address and times", last)
	}
	test := b.program(ctx, host.Command{Path: "make", Args: []string{"test"}, Dir: dir, Env: env})
	if test.code != 0 {
		return "", fmt.Errorf("make test: %s", test.out)
	}
	figure := fmt.Sprintf("make demo %.0f s, make test %.0f s\n%s", demo.took.Seconds(), test.took.Seconds(), last)
	if demo.took+test.took > 15*time.Minute {
		return "", fmt.Errorf("more than 15 minutes: %s", figure)
	}
	return figure, nil
}

// reproducible builds in three folders and compares.
func reproducible(ctx context.Context, b *bench) (string, error) {
	image, err := b.image(ctx)
	if err != nil {
		return "", err
	}
	second, third := b.folder("second"), b.folder("third")
	cache := b.folder("cache") // the second build shares nothing with the first but what it downloads
	if r := b.run(ctx, []string{"GROVE_CACHE=" + cache}, "build", "solo", "-o", second); r.code != 0 {
		return "", errors.New(r.out)
	}
	manifest := strings.TrimSuffix(image, ".img") + ".manifest.json"
	if r := b.run(ctx, nil, "build", "solo", "-o", third, "--lock", manifest, "--offline"); r.code != 0 {
		return "", errors.New(r.out)
	}
	var sums []string
	for _, file := range []string{image, filepath.Join(second, "solo.img"), filepath.Join(third, "solo.img")} {
		s, err := sum(file)
		if err != nil {
			return "", err
		}
		sums = append(sums, s)
	}
	if sums[0] != sums[1] || sums[0] != sums[2] {
		return "", fmt.Errorf("have %s", strings.Join(sums, ", "))
	}
	return "3 × " + sums[0], nil
}

// rebuilds changes a setting, and then nothing.
func rebuilds(ctx context.Context, b *bench) (string, error) {
	if _, err := b.image(ctx); err != nil {
		return "", err
	}
	file, err := b.recipe()
	if err != nil {
		return "", err
	}
	out := b.folder("out")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if r := b.run(ctx, nil, "build", file, "-o", out); r.code != 0 {
		return "", errors.New(r.out)
	}
	var setting, nothing result
	for n := range 3 { // the fastest counts: whatever else the machine does can only add
		changed := strings.Replace(string(data), "    security:", fmt.Sprintf("    operationProfiling: {slowOpThresholdMs: %d}\n    security:", 250+n), 1)
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			return "", err
		}
		one := b.run(ctx, nil, "build", file, "-o", out)
		same := b.run(ctx, nil, "build", file, "-o", out)
		if err := errors.Join(one.wants(0, "mongod.config.operationProfiling.slowOpThresholdMs"), same.wants(0, "nothing changed")); err != nil {
			return "", err
		}
		if n == 0 || one.took < setting.took {
			setting = one
		}
		if n == 0 || same.took < nothing.took {
			nothing = same
		}
	}
	figure := fmt.Sprintf("one setting %.2f s, nothing %.2f s, the fastest of 3", setting.took.Seconds(), nothing.took.Seconds())
	if setting.took > 1500*time.Millisecond || nothing.took > time.Second {
		return "", errors.New("too slow: " + figure + "\n" + setting.out)
	}
	return figure, nil
}

// goTest runs tests of a package, which print their own faults.
func goTest(pkg, pattern string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-count=1", "-v", "-run", pattern, pkg}})
		if r.code != 0 || !strings.Contains(r.out, "--- PASS") {
			return "", errors.New(r.out)
		}
		return strings.Join(regexp.MustCompile(`(?m)^--- PASS: .*$`).FindAllString(r.out, -1), "\n"), nil
	}
}
