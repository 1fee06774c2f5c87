package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"grove/builder/cache"
	"grove/internal/host"
)

// buildsUBoot makes it anew from the source package's files, and then from such that somebody has changed.
func buildsUBoot(ctx context.Context, b *bench) (string, error) {
	source, clean := b.folder("source"), b.folder("cache")
	script, err := os.ReadFile("scripts/build-uboot")
	if err != nil {
		return "", err
	}
	version := regexp.MustCompile(`(?m)^version=(.+)$`).FindSubmatch(script)
	if version == nil {
		return "", errors.New("scripts/build-uboot names no version")
	}
	if r := b.program(ctx, host.Command{Path: "scripts/apt-apart", Args: []string{"bookworm", "armhf", "source", "u-boot=" + string(version[1]), source}}); r.code != 0 {
		return "", errors.New(r.out)
	}
	build := func(cache string) result {
		return b.program(ctx, host.Command{Path: "scripts/build-uboot", Args: []string{defconfig}, Env: []string{"UBOOT_SOURCE=" + source, "GROVE_CACHE=" + cache}})
	}
	built := build(clean)
	if built.code != 0 {
		return "", errors.New(built.out)
	}
	figure, err := asRecorded(clean)
	if err != nil {
		return "", err
	}
	if err := spare(clean); err != nil {
		return "", err
	}
	patches, err := filepath.Glob(filepath.Join(source, "*.debian.tar.xz"))
	if err != nil || len(patches) != 1 {
		return "", fmt.Errorf("the source's patches are %v, %w", patches, err)
	}
	data, err := os.ReadFile(patches[0])
	if err != nil {
		return "", err
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(patches[0], data, 0o644); err != nil {
		return "", err
	}
	none := b.folder("cache")
	if r := build(none); r.code == 0 || !strings.Contains(r.out, "the source is not the one that this script knows, so nothing is built of it") {
		return "", fmt.Errorf("tampered source: exit code %d: %s", r.code, r.out)
	}
	return fmt.Sprintf("%s, in %.0f s; one bit of its source changed: refused", figure, built.took.Seconds()), empty(none)
}

// asRecorded compares what was built with what the board file records.
func asRecorded(folder string) (string, error) {
	have, err := sum(filepath.Join(folder, "uboot", defconfig, "u-boot-sunxi-with-spl.bin"))
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(folder, "uboot", defconfig, "about.json"))
	if err != nil {
		return "", err
	}
	var about struct{ Compiler string }
	if err := json.Unmarshal(text, &about); err != nil {
		return "", err
	}
	board, err := os.ReadFile("boards/pcduino3-nano.yaml")
	if err != nil {
		return "", err
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)^  ` + name + `: (.+)$`).FindSubmatch(board)
		if found == nil {
			return "nothing"
		}
		return string(found[1])
	}
	switch want := field("sha256"); {
	case have == want:
		return "the recorded hash " + have[:16], nil
	case about.Compiler == field("compiler"):
		return "", fmt.Errorf("%s made %s; the board file records %s of the same compiler", about.Compiler, have, want)
	}
	return fmt.Sprintf("another hash, %s, by another compiler, %s, and the manifest says so", have[:16], about.Compiler), nil
}

// spare saves the machine's cache a build of its own, if it has none.
func spare(clean string) error {
	kept, err := cache.Default()
	if err != nil {
		return err
	}
	to := filepath.Join(kept, "uboot", defconfig)
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	partial := to + ".partial"
	if err := os.CopyFS(partial, os.DirFS(filepath.Join(clean, "uboot", defconfig))); err != nil {
		return err
	}
	return os.Rename(partial, to)
}

// wrongMongod builds the Nano's recipe with a program that cannot run there.
func wrongMongod(make func(context.Context, *bench) ([]byte, error), words ...string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		if _, err := b.nano(ctx); err != nil {
			return "", err
		}
		program, err := make(ctx, b)
		if err != nil {
			return "", err
		}
		file, err := b.nanoRecipe(program)
		if err != nil {
			return "", err
		}
		out := filepath.Join(b.folder("out"), "o")
		r := b.run(ctx, nil, "build", file, "-o", out)
		return lastLine(r.out), errors.Join(r.wants(3, words...), empty(out))
	}
}

func amd64Mongod(ctx context.Context, b *bench) ([]byte, error) {
	file, err := b.mongodProgram(ctx)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// arm64Mongod is a program for 64-bit ARM whose constants are a mongod's: the stand-in, for another processor.
func arm64Mongod(ctx context.Context, b *bench) ([]byte, error) {
	file := filepath.Join(b.folder("mongod64"), "mongod")
	r := b.program(ctx, host.Command{Path: "go", Args: []string{"build", "-o", file, "./accept/mongod32"}, Env: []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64"}})
	if r.code != 0 {
		return nil, errors.New(r.out)
	}
	return os.ReadFile(file)
}

// oldLibrary is a program of a few instructions, linked as a mongod 3.2 of the distributions of 2015 is: with OpenSSL 1.0.0.
func oldLibrary(ctx context.Context, b *bench) ([]byte, error) {
	dir := b.folder("old")
	sources := map[string]string{
		"ssl.c":  "int SSL_new(void) { return 0; }\n",
		"main.c": "int SSL_new(void);\nconst char version[] = \"\\0003.2.12\\0tcmalloc\";\nvoid _start(void) { SSL_new(); for (;;) { __asm__ volatile(\"\" : : \"r\"(version)); } }\n",
	}
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	const gcc = "arm-linux-gnueabihf-gcc"
	for _, args := range [][]string{
		{"-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libssl.so.1.0.0", "-o", "libssl.so", "ssl.c"},
		{"-nostdlib", "-fno-builtin", "-Wl,--dynamic-linker=/lib/ld-linux-armhf.so.3", "-o", "mongod", "main.c", "-L.", "-lssl"},
	} {
		if r := b.program(ctx, host.Command{Path: gcc, Args: args, Dir: dir}); r.code != 0 {
			return nil, fmt.Errorf("%s: %s", gcc, r.out)
		}
	}
	return os.ReadFile(filepath.Join(dir, "mongod"))
}

// claims says 3.4 in the recipe, and then in the program.
func claims(ctx context.Context, b *bench) (string, error) {
	program, err := b.mongod32(ctx)
	if err != nil {
		return "", err
	}
	const reason = "MongoDB 3.4.24 wants 64 bits, pcduino3-nano is a 32-bit board (armhf); 3.2 is the last series for 32 bits"
	said, err := b.nanoRecipe(program, `version: "3.2.12"`, `version: "3.4.24"`)
	if err != nil {
		return "", err
	}
	if err := b.run(ctx, nil, "check", said).wants(3, "pcduino3-nano.yaml:", "mongod.version: "+reason); err != nil {
		return "", err
	}
	newer := bytes.ReplaceAll(program, []byte("\x003.2.12\x00"), []byte("\x003.4.24\x00"))
	if bytes.Equal(newer, program) {
		return "", errors.New("the program does not say its version")
	}
	return wrongMongod(func(context.Context, *bench) ([]byte, error) { return newer, nil }, "the recipe says 3.2.12, the mongod of mongod is 3.4.24; and "+reason)(ctx, b)
}

// raspberry is a board file of one, as its owner would write it.
func raspberry(ctx context.Context, b *bench) (string, error) {
	arm, err := os.ReadFile("boards/qemu-arm64.yaml")
	if err != nil {
		return "", err
	}
	recipe, err := os.ReadFile("recipes/demo-arm64.yaml")
	if err != nil {
		return "", err
	}
	dir := b.folder("raspberry")
	old, was := strings.Replace(string(arm), "cpu: [armv8.2-a]", "cpu: [armv8-a]", 1), string(arm)
	if old == was {
		return "", errors.New("boards/qemu-arm64.yaml does not name its processor as it did")
	}
	if err := os.WriteFile(filepath.Join(dir, "raspberry-pi-4.yaml"), []byte(old), 0o644); err != nil {
		return "", err
	}
	check := func(version string) result {
		file := filepath.Join(dir, "r.yaml")
		text := strings.NewReplacer("board: qemu-arm64", "board: raspberry-pi-4.yaml", `version: "6.0.5"`, `version: "`+version+`"`).Replace(string(recipe))
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return result{out: err.Error(), code: -1}
		}
		return b.run(ctx, nil, "check", file)
	}
	for _, version := range []string{"5.0.0", "6.0.5", "8.0.11"} {
		if err := check(version).wants(3, "MongoDB "+version+" wants ARMv8.2-A, which raspberry-pi-4 does not name in cpu (have armv8-a); 4.4.18 is the last that runs on ARMv8-A"); err != nil {
			return "", err
		}
	}
	return "5.0.0, 6.0.5 and 8.0.11 refused, 4.4.18 taken", check("4.4.18").wants(0)
}
