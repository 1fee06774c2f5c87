package contents

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const list = `usr/lib/x86_64-linux-gnu/libssl.so.3                libs/libssl3t64,universe/libs/other
usr/lib/x86_64-linux-gnu/libssl.so.3.1  libs/wrong
usr/share/a file/libssl.so.3	spaced
usr/lib/libssl.so.30 libs/wrong
usr/lib/libssl.so.3/inside libs/wrong

usr/lib/libx.so libs/last`

func TestHolders(t *testing.T) {
	for file, want := range map[string][]string{
		"libssl.so.3": {"libssl3t64", "other", "spaced"}, "libx.so": {"last"}, "libssl.so.1.1": nil, "ibssl.so.3": nil,
	} {
		got, err := Holders(t.Context(), strings.NewReader(list), file)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %s %v", file, d, err)
		}
	}
}

func TestHoldersStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped by the user")
	cancel(stop)
	if _, err := Holders(ctx, strings.NewReader(list), "x"); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}
