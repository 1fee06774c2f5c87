package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"grove/internal/size"
)

// Digest is the image's content. Mapped are the pieces that must reach a medium, in order; the rest reads as zeros in the image and may hold anything on
// the medium.
type Digest struct {
	SHA256 string    `json:"sha256"`
	Size   size.Size `json:"size"`
	Mapped []Range   `json:"mapped"`
}

// Range is a piece of the image: whole blocks of 4096 bytes.
type Range struct {
	Start  int64  `json:"start"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Block is the unit of the map.
const Block = 4096

// Bmap writes the map in the form 2.0 of bmap-tools, whose checksum is that of the file with zeros in its place.
func (d Digest) Bmap() []byte {
	var ranges strings.Builder
	mapped := int64(0)
	for _, r := range d.Mapped {
		first, last := r.Start/Block, (r.Start+r.Size+Block-1)/Block-1
		mapped += last - first + 1
		span := fmt.Sprintf("%d-%d", first, last)
		if first == last {
			span = fmt.Sprint(first)
		}
		fmt.Fprintf(&ranges, "        <Range chksum=\"%s\"> %s </Range>\n", r.SHA256, span)
	}
	zeros := strings.Repeat("0", 2*sha256.Size)
	text := fmt.Appendf(nil, `<?xml version="1.0" ?>
<bmap version="2.0">
    <ImageSize> %d </ImageSize>
    <BlockSize> %d </BlockSize>
    <BlocksCount> %d </BlocksCount>
    <MappedBlocksCount> %d </MappedBlocksCount>
    <ChecksumType> sha256 </ChecksumType>
    <BmapFileChecksum> %s </BmapFileChecksum>
    <BlockMap>
%s    </BlockMap>
</bmap>
`, int64(d.Size), Block, (int64(d.Size)+Block-1)/Block, mapped, zeros, ranges.String())
	sum := sha256.Sum256(text)
	return bytes.Replace(text, []byte(zeros), []byte(hex.EncodeToString(sum[:])), 1)
}
