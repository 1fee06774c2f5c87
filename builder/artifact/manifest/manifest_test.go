package manifest

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"grove/internal/size"
	"grove/internal/spec"
)

func sample() *Manifest {
	return &Manifest{
		Format: format, Grove: "1.0", Image: "demo", Time: 1735689600, Kernel: "6.12.1-cloud-amd64", Go: "go1.26.8",
		Digest: Digest{SHA256: strings.Repeat("12", 32), Size: 64 * size.MiB, Mapped: []Range{{0, 8192, strings.Repeat("34", 32)}, {1 << 20, 4096, strings.Repeat("56", 32)}}},
		Spec:   json.RawMessage(`{"Name":"demo"}`), Parts: map[string]string{"system": "abc"},
		Mongod: Mongod{Version: "6.0.5", SHA256: strings.Repeat("78", 32), Source: json.RawMessage(`{"wheel":"x==1"}`)},
		Packages: []Package{
			{Name: "libstdc++6", Version: "14.2.0-19", Arch: "amd64", Suite: "trixie", File: "pool/main/g/gcc-14/libstdc++6_14.2.0-19_amd64.deb", SHA256: strings.Repeat("9a", 32), Use: "system"},
			{Name: "grub-common", Version: "1:2.12-9", Arch: "amd64", Suite: "trixie", File: "pool/main/g/grub2/grub-common_2.12-9_amd64.deb", SHA256: strings.Repeat("bc", 32), Use: Tool},
		},
		Modules: []Module{{"github.com/u-root/u-root", "v0.16.0", "h1:x="}},
	}
}

func TestJSONIsReadBack(t *testing.T) {
	want := sample()
	data, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(data)
	if err != nil {
		t.Fatal(err)
	}
	compact := cmp.Transformer("json", func(r json.RawMessage) (v any) { json.Unmarshal(r, &v); return v })
	if diff := cmp.Diff(want, got, compact); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Manifest)
		want   string
	}{
		{"no digest", func(m *Manifest) { m.Digest.SHA256 = "" }, "no digest of an image"},
		{"pieces overlap", func(m *Manifest) { m.Digest.Mapped[1].Start = 4096 }, "mapped piece at 4096"},
		{"piece past the end", func(m *Manifest) { m.Digest.Mapped[1].Size = 1 << 40 }, "overlaps another or the end"},
		{"piece before the start", func(m *Manifest) { m.Digest.Mapped[0].Start = -4096 }, "mapped piece at -4096"},
		{"sum of the end overflows", func(m *Manifest) { m.Digest.Mapped[1] = Range{1<<63 - 4096, 1 << 62, ""} }, "mapped piece"},
	}
	for _, test := range tests {
		m := sample()
		test.change(m)
		data, _ := m.JSON()
		if _, err := Read(data); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	for text, want := range map[string]string{"{": "unexpected end", `{"format": 2}`: "have format 2, want 1", "{}": "have format 0, want 1"} {
		if _, err := Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestSPDXHasAllPartsOnceWithTheirRelations(t *testing.T) {
	data, err := sample().SPDX()
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	ids, got := map[string]string{}, []string{}
	for _, p := range b.Packages {
		if ids[p.ID] != "" || !regexp.MustCompile(`^SPDXRef-[a-zA-Z0-9.-]+$`).MatchString(p.ID) {
			t.Errorf("id %q: twice, or with other letters than SPDX has", p.ID)
		}
		ids[p.ID] = p.Name
	}
	ids["SPDXRef-DOCUMENT"] = "document"
	for _, r := range b.Relationships {
		got = append(got, ids[r.From]+" "+r.Type+" "+ids[r.To])
	}
	want := []string{"document DESCRIBES demo.img", "demo.img CONTAINS mongod", "demo.img CONTAINS github.com/u-root/u-root",
		"demo.img CONTAINS libstdc++6", "grub-common BUILD_TOOL_OF demo.img"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, word := range []string{`"pkg:deb/debian/libstdc%2B%2B6@14.2.0-19?arch=amd64`, "pkg:deb/debian/grub-common@1%3A2.12-9?arch", `"created": "2025-01-01T00:00:00Z"`,
		"pkg:golang/github.com/u-root/u-root@v0.16.0", `"spdxVersion": "SPDX-2.3"`} {
		if !strings.Contains(string(data), word) {
			t.Errorf("lacks %s:\n%s", word, data)
		}
	}
}

func TestBmapIsWhatBmapToolsReads(t *testing.T) {
	want := `<?xml version="1.0" ?>
<bmap version="2.0">
    <ImageSize> 67108864 </ImageSize>
    <BlockSize> 4096 </BlockSize>
    <BlocksCount> 16384 </BlocksCount>
    <MappedBlocksCount> 3 </MappedBlocksCount>
    <ChecksumType> sha256 </ChecksumType>
    <BmapFileChecksum> SUM </BmapFileChecksum>
    <BlockMap>
        <Range chksum="3434343434343434343434343434343434343434343434343434343434343434"> 0-1 </Range>
        <Range chksum="5656565656565656565656565656565656565656565656565656565656565656"> 256 </Range>
    </BlockMap>
</bmap>
`
	sum := regexp.MustCompile(`[0-9a-f]{64} </BmapFileChecksum>`)
	if diff := cmp.Diff(want, sum.ReplaceAllString(string(sample().Digest.Bmap()), "SUM </BmapFileChecksum>")); diff != "" {
		t.Error(diff)
	}
}

func TestLayoutNumbersThePartitions(t *testing.T) {
	i := spec.Image{Seed: "s", Partitions: []spec.Partition{{Role: "boot", Start: size.MiB, Size: size.MiB}, {Role: "state", Start: 2 * size.MiB, Size: size.MiB, FS: "u"}}}
	want := Disk{GUID: i.DiskID(), Size: 4 * size.MiB, Partitions: []Partition{
		{Number: 1, Role: "boot", Start: size.MiB, Size: size.MiB}, {Number: 2, Role: "state", FS: "u", Start: 2 * size.MiB, Size: size.MiB}}}
	if diff := cmp.Diff(want, Layout(i)); diff != "" {
		t.Error(diff)
	}
}
