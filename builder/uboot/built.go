package uboot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"grove/internal/spec"
)

// Built is what scripts/build-uboot writes beside the U-Boot that it has made.
type Built struct {
	Defconfig string            `json:"defconfig"`
	Version   string            `json:"version"`  // of the source package
	Compiler  string            `json:"compiler"` // Debian's package of it with its version
	SHA256    string            `json:"sha256"`   // of the loader
	Sources   map[string]string `json:"sources"`  // sha256 of the source package's files, by name
}

// Names of the two files in a folder of scripts/build-uboot.
const (
	Binary = "u-boot-sunxi-with-spl.bin"
	About  = "about.json"
)

// Folder is where scripts/build-uboot puts a board's U-Boot, below the cache.
func Folder(cache string, u spec.UBoot) string {
	return filepath.Join(cache, "uboot", u.Defconfig)
}

// Find gives the U-Boot that was built for a board. Where another compiler made it other bytes than the board file records, the reason comes with it.
func Find(cache string, board spec.Board) (path string, b Built, differs string, err error) {
	u := board.UBoot
	folder := Folder(cache, u)
	path = filepath.Join(folder, Binary)
	again := fmt.Sprintf("; scripts/build-uboot %s makes it anew, within minutes", u.Defconfig)
	text, err := os.ReadFile(filepath.Join(folder, About))
	if errors.Is(err, fs.ErrNotExist) {
		return path, b, "", fmt.Errorf("the U-Boot of %s is not built yet; scripts/build-uboot %s makes it, within minutes", board.Name, u.Defconfig)
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return path, b, "", fmt.Errorf("read what %s is: %w%s", path, err, again)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return path, b, "", fmt.Errorf("%w%s", err, again)
	}
	sum := sha256.Sum256(file)
	switch have := hex.EncodeToString(sum[:]); {
	case have != b.SHA256:
		return path, b, "", fmt.Errorf("%s was changed after it was built: have sha256 %s, want %s%s", path, have, b.SHA256, again)
	case b.Version != u.Version:
		return path, b, "", fmt.Errorf("%s is U-Boot %s, the board %s wants %s%s", path, b.Version, board.Name, u.Version, again)
	case have == u.SHA256:
		return path, b, "", nil
	case b.Compiler == u.Compiler:
		return path, b, "", fmt.Errorf("%s has sha256 %s, but %s makes %s of U-Boot %s%s", path, have, u.Compiler, u.SHA256, u.Version, again)
	}
	return path, b, fmt.Sprintf("U-Boot %s was built by %s, which makes other bytes than %s does: sha256 %s in place of %s", u.Version, b.Compiler, u.Compiler, b.SHA256, u.SHA256), nil
}
