package voice

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"grove/firstboot/status"
	"grove/internal/host"
)

func TestProblemIsNewsOnce(t *testing.T) {
	v := &Voice{Machine: &host.FakeMachine{}, Root: t.TempDir()}
	for _, c := range []struct {
		name, about, sentence string
		news                  bool
		page                  []string
	}{
		{"the first", "state", "bad superblock", true, []string{"state: bad superblock"}},
		{"the same again", "state", "bad superblock", false, []string{"state: bad superblock"}},
		{"another about the same", "state", "lost", true, []string{"state: lost"}},
		{"one about another thing, in order", "page", "taken", true, []string{"page: taken", "state: lost"}},
		{"it is over", "state", "", true, []string{"page: taken"}},
		{"it was over", "state", "", false, []string{"page: taken"}},
	} {
		if got := v.Problem(c.about, c.sentence); got != c.news {
			t.Errorf("%s: got news %v", c.name, got)
		}
		if got := status.Read(v.Root + status.File).Problems; !slices.Equal(got, c.page) || v.Wrong(c.about) != c.sentence {
			t.Errorf("%s: got %q; want %q", c.name, got, c.page)
		}
	}
}

func TestCopySharesNoListWithThePage(t *testing.T) {
	v := &Voice{Machine: &host.FakeMachine{}, Root: t.TempDir()}
	v.Page(func(s *status.Status) { s.Addresses = []string{"10.5.0.11/24"} })
	v.Copy().Addresses[0] = "another's"
	if got := v.Status().Addresses[0]; got != "10.5.0.11/24" {
		t.Errorf("got %s", got)
	}
}

func TestTongueSpeaksOfItsTopic(t *testing.T) {
	var console bytes.Buffer
	v := &Voice{Machine: &host.FakeMachine{}, Root: t.TempDir(), Console: &console}
	v.On("set").Say("%d members", 3)
	if got := console.String(); !strings.HasSuffix(got, " set: 3 members\n") {
		t.Errorf("got %q", got)
	}
}
