package payload

import (
	"context"

	"grove/internal/filesystem"
	"grove/internal/size"
	"grove/internal/spec"
	"grove/internal/step"
)

// pack runs mksquashfs. Its environment is empty: SOURCE_DATE_EPOCH of a surrounding build would contradict the image's own time.
func (r Request) pack(ctx context.Context, folder, file string, files []File, count step.Counter) error {
	command, err := r.Tools.Command("mksquashfs", squashfs(r.Image).Arguments(folder, file)...)
	if err != nil {
		return err
	}
	var total int64
	for _, f := range files {
		total += f.Size
	}
	count.Total(total)
	command.Clean = true
	if _, err := r.Host.Run(ctx, command); err != nil {
		return err
	}
	count.Add(total)
	return nil
}

func squashfs(i spec.Image) filesystem.Squashfs {
	return filesystem.Squashfs{Compression: i.System.Compression, Level: i.System.Level, Block: block, Time: i.Time}
}

// block is mksquashfs's own default, and the best of those measured with the demo's system (174 MB, zstd level 3) from start to mongod's "Waiting for
// connections" in QEMU, in guest instructions (-icount), beside 3.3e9 without compression:
//
//	 64 KiB  4.31e9, 37 MB read in 1346 requests, 62.6 MB packed
//	128 KiB  4.30e9, 37 MB in  717,               61.2 MB
//	256 KiB  4.64e9, 38 MB in  394,               59.0 MB
//	  1 MiB  4.83e9, 49 MB in  146,               57.3 MB
//
// A page fault of mongod unpacks a whole block, and beyond 128 KiB much of it is never looked at.
const block = 128 * size.KiB
