package initramfs

import (
	"bytes"
	"os"

	"github.com/klauspost/compress/zstd"
	"github.com/u-root/u-root/pkg/cpio"
)

// layout is an input of every part: raise it when what is written of the same inputs changes.
const layout = "1"

// level: see pack.
const level = zstd.SpeedBestCompression

// pack writes the compressed archive. Zstandard, as Linux unpacks it several times as fast as xz and every kernel since 5.9 can; at the best level, since the
// boot loader reads the file at a few MB a second, while it is packed once.
func pack(to string, records []cpio.Record) error {
	plain, err := archive(records)
	if err != nil {
		return err
	}
	// One goroutine, so that the bytes never depend on the number of processors.
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	defer w.Close()
	return os.WriteFile(to, w.EncodeAll(plain, nil), 0o644)
}

// archive is the cpio archive (format newc), every time and owner 0.
func archive(records []cpio.Record) ([]byte, error) {
	var b bytes.Buffer
	w := cpio.Newc.Writer(&b)
	for _, r := range records {
		if err := w.WriteRecord(cpio.MakeReproducible(r)); err != nil {
			return nil, err
		}
	}
	if err := cpio.WriteTrailer(w); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// root is what / holds besides programs. The kernel opens /dev/console for PID 1 before anything is mounted on /dev; without the node, its first words are lost.
func root() []cpio.Record {
	var records []cpio.Record
	for _, dir := range []string{"dev", "proc", "sys", "run", "etc", "etc/grove", "state", "usr", "modules", "bbin"} {
		records = append(records, cpio.Directory(dir, 0o755))
	}
	records = append(records, cpio.Directory("tmp", 0o1777), cpio.Directory("root", 0o700))
	for _, link := range []string{"lib", "lib64", "bin", "sbin"} {
		records = append(records, cpio.Symlink(link, "usr/"+link))
	}
	return append(records, cpio.CharDev("dev/console", 0o600, 5, 1), cpio.CharDev("dev/null", 0o666, 1, 3))
}
