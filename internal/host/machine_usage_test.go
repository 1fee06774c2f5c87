package host

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestUsageIsWhatStatSays(t *testing.T) {
	dir := t.TempDir()
	got, err := Real{}.Usage(dir)
	if err != nil {
		t.Fatal(err)
	}
	out, err := Real{}.Run(context.Background(), Command{Path: "/usr/bin/stat", Args: []string{"-f", "-c", "%b %S %c", dir}})
	var blocks, unit, files int64
	if _, scanned := fmt.Sscan(string(out), &blocks, &unit, &files); err != nil || scanned != nil || int64(got.Size) != blocks*unit || got.Files != files ||
		got.Available > got.Free || got.Free > got.Size || got.FilesFree > got.Files {
		t.Errorf("got %+v; stat says %s, %v", got, out, err)
	}
	if _, err := (Real{}).Usage("/no/such"); err == nil || !strings.Contains(err.Error(), "usage of /no/such") {
		t.Errorf("got %v", err)
	}
}
