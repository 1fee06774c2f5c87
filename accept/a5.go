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

	"grove/builder/cache"
	"grove/builder/lab"
	"grove/internal/host"
	"grove/internal/mongoconf"
	"grove/internal/spec"
)

// a5: the boards, a 32-bit one and 64-bit ARM.
func a5() []check {
	return []check{
		{name: "a5.4", says: "U-Boot from a clean cache: the recorded hash, or another compiler is named; tampered source is refused, and nothing is built of it", within: 30 * time.Minute, beside: true, run: buildsUBoot},
		{name: "a5.1.same", says: "the Nano's card built twice, once with nothing but U-Boot in the cache, and once more with --lock and --offline: three equal sha256", within: 15 * time.Minute, run: nanoTwice},
		{name: "a5.1.judges", says: "sfdisk --verify, fsck.vfat -n, dtc on each device tree; file says armhf of every program, library and module; eGON checksum right, SPL at 8192, nothing overlaps",
			within: 5 * time.Minute, beside: true, run: judgeNano},
		{name: "a5.1.inspect", says: "grove inspect finds table, partitions and U-Boot of the card", within: 5 * time.Minute, beside: true, run: inspectNano},
		{name: "a5.2.u-boot", says: "layer 1, the card on virt by U-Boot: four nodes form an SSD by AHCI, swap on a USB stick, tuning and status, and become the set rs1", within: 25 * time.Minute, run: nanos("u-boot", "")},
		{name: "a5.2.sunxi", says: "layer 2, boot ROM, SPL, U-Boot, kernel on the cubieboard: the same, by the SoC's own SD, SATA and USB hosts", within: 40 * time.Minute, run: nanos("sunxi", "ahci-sunxi")},
		{name: "a5.2.spl", says: "layer 3, the Nano's own SPL and U-Boot say which board they are for, and how much memory they set up", within: 5 * time.Minute, beside: true, run: nanoBanner},
		{name: "a5.2.arm64", says: "layer 4, 64-bit ARM by UEFI: three blank nodes become one set of real mongods, a majority's write read back from each", within: 25 * time.Minute, run: setByCommand("demo-arm64")},
		{name: "a5.2.m7g", says: "the image for Graviton on virt, from NVMe, its console named by the firmware: a mongod that is written to, and an ordered stop", within: 10 * time.Minute, run: graviton,
			notCI: "a minute and a half; a5.2.arm64 boots the same kernel and system"},
		{name: "a5.3.amd64", says: "a mongod for amd64 on the Nano: what it is, what the board is, what would do", within: 5 * time.Minute, beside: true, run: wrongMongod(amd64Mongod,
			"is for amd64, the board pcduino3-nano is armhf; want a mongod 3.0 or 3.2 that was compiled for 32-bit ARM")},
		{name: "a5.3.arm64", says: "a mongod for arm64 on the Nano: the same", within: 5 * time.Minute, beside: true, run: wrongMongod(arm64Mongod,
			"is for arm64, the board pcduino3-nano is armhf; want a mongod 3.0 or 3.2 that was compiled for 32-bit ARM")},
		{name: "a5.3.claims", says: "a recipe that says 3.4 for the Nano, and a program that says so of itself", within: 5 * time.Minute, beside: true, run: claims},
		{name: "a5.3.library", says: "a mongod that needs libssl.so.1.0.0, which no suite has: named, with what would do", within: 5 * time.Minute, beside: true, run: wrongMongod(oldLibrary,
			"needs libssl.so.1.0.0, which is not on the library path", "so bring a program that was linked with what the suite has, or statically")},
		{name: "a5.3.armv8", says: "a Raspberry Pi 4 and MongoDB 5 or later: refused for ARMv8.2-A; 4.4.18, which would run, is taken", within: 2 * time.Minute, beside: true, run: raspberry},
	}
}

const defconfig = "Linksprite_pcDuino3_Nano_defconfig"

// nanoRecipe is the product's own, with a program in the place of the mongod that it leaves to its owner. pairs are old and new words in it.
func (b *bench) nanoRecipe(program []byte, pairs ...string) (string, error) {
	text, err := os.ReadFile("recipes/pcduino3-nano.yaml")
	if err != nil {
		return "", err
	}
	file := filepath.Join(b.folder("recipe"), "pcduino3-nano.yaml")
	mongod := filepath.Join(filepath.Dir(file), "mongod")
	if err := os.WriteFile(mongod, program, 0o755); err != nil {
		return "", err
	}
	hash, err := sum(mongod)
	if err != nil {
		return "", err
	}
	recipe := strings.NewReplacer(append(pairs, strings.Repeat("0", 64), hash)...).Replace(string(text))
	return file, os.WriteFile(file, []byte(recipe), 0o644)
}

// mongod32 is the stand-in for the one that the owner of such boards compiled.
func (b *bench) mongod32(ctx context.Context) ([]byte, error) {
	file := filepath.Join(b.folder("mongod32"), "mongod")
	r := b.program(ctx, host.Command{Path: "go", Args: []string{"build", "-trimpath", "-ldflags=-s -w", "-o", file, "./accept/mongod32"}, Env: []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm", "GOARM=7"}})
	if r.code != 0 {
		return nil, errors.New(r.out)
	}
	return os.ReadFile(file)
}

// nano is the card's image, built once. took is how long.
func (b *bench) nano(ctx context.Context) (image string, err error) {
	b.turn.Lock()
	defer b.turn.Unlock()
	if b.card != "" {
		return b.card, nil
	}
	if r := b.program(ctx, host.Command{Path: "scripts/build-uboot", Args: []string{defconfig}}); r.code != 0 {
		return "", errors.New(r.out)
	}
	program, err := b.mongod32(ctx)
	if err != nil {
		return "", err
	}
	file, err := b.nanoRecipe(program)
	if err != nil {
		return "", err
	}
	if r := b.run(ctx, nil, "build", file, "-o", filepath.Dir(file)); r.code != 0 {
		return "", fmt.Errorf("grove build pcduino3-nano: exit code %d: %s", r.code, r.out)
	}
	b.card = strings.TrimSuffix(file, ".yaml") + ".img"
	return b.card, nil
}

// boards switches nodes of the card on, each with a disk and a stick as the recipe asks for.
func (b *bench) boards(ctx context.Context, firmware string, names ...string) (*lab.Lab, error) {
	card, err := b.nano(ctx)
	if err != nil {
		return nil, err
	}
	if r := b.program(ctx, host.Command{Path: "scripts/fetch-chain"}); r.code != 0 {
		return nil, errors.New(r.out)
	}
	kept, err := cache.Default()
	if err != nil {
		return nil, err
	}
	img, err := readSpec(card)
	if err != nil {
		return nil, err
	}
	c := lab.Config{Image: lab.Image{Name: img.Name, Path: card, Arch: img.Board.Arch, Lab: img.Board.Lab, Storage: true, Set: img.Settings.ReplicaSet, Hosts: img.Settings.Network.Hosts,
		Open: mongoconf.Open(img.Mongod.Config)}, Firmware: firmware, Chain: filepath.Join(kept, "chain"), Dir: filepath.Join(b.dir, "lab"), Host: b.host, Boot: 4 * time.Minute, Silence: 4 * time.Minute}
	disks, err := bayFor(img)
	for _, name := range names {
		c.Nodes = append(c.Nodes, spec.Personal{Hostname: name})
		c.Disks = append(c.Disks, disks)
	}
	if err != nil {
		return nil, err
	}
	return lab.Up(ctx, c)
}

// banner is what the Nano's own boot loader says on a processor that it is not for.
var banner = []string{`U-Boot SPL 2023\.01`, `CPU: +Allwinner A20 \(SUN7I\)`, `Model: LinkSprite pcDuino3 Nano`, `DRAM: +1 GiB`}

func nanoBanner(ctx context.Context, b *bench) (figure string, err error) {
	l, err := b.boards(ctx, "spl", "cluster1")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(blamed(err, l.Dir()), keep(l.Dir(), "spl")) }()
	defer l.Close(context.WithoutCancel(ctx))
	start := time.Now()
	soon, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not said within 2 minutes"))
	defer cancel()
	for _, words := range banner {
		if _, err := l.Expect(soon, "cluster1", regexp.MustCompile(words)); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("the board's name and 1 GiB after %.1f s; then it meets an instruction that QEMU's processor does not have", time.Since(start).Seconds()), nil
}

// serialLogs is where the consoles of the layers are kept, below the folder that make clean removes.
const serialLogs = "out/serial"

// keep copies a lab's serial logs, so that they outlive the bench.
func keep(dir, layer string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "*.serial.log"))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("no serial log in %s", dir)
	}
	to := filepath.Join(serialLogs, layer)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, file := range logs {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
