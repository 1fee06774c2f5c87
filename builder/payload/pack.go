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

const block = 128 * size.KiB
