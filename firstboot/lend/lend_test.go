package lend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"grove/firstboot/status"
)

// node is a machine with the interfaces eth0 and eth1, of an MTU of 9001 each, and an agent.
type node struct {
	t     *testing.T
	root  string
	begin time.Time
	fails error
	said  []string
	page  status.Status
	about map[string]string
}

func newNode(t *testing.T) *node {
	n := &node{t: t, root: t.TempDir(), begin: time.Now(), about: map[string]string{}}
	n.file("proc/net/route", "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"+
		"eth1\t00000000\t0100050A\t0003\t0\t0\t103\t00000000\t0\t0\t0\neth0\t00000000\t0100050A\t0003\t0\t0\t102\t00000000\t0\t0\t0\neth0\t0000050A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n")
	n.file("sys/class/net/eth0/mtu", "9001\n")
	n.file("sys/class/net/eth1/mtu", "9001\n")
	return n
}

func (n *node) file(name, text string) {
	n.t.Helper()
	name = filepath.Join(n.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) Say(format string, values ...any) {
	n.said = append(n.said, fmt.Sprintf(format, values...))
}
func (n *node) Page(change func(*status.Status))    { change(&n.page) }
func (n *node) Problem(about, sentence string) bool { n.about[about] = sentence; return true }

func (n *node) uptime() float64 { return time.Since(n.begin).Seconds() }

func (n *node) set(link string, mtu int) error {
	if n.fails == nil {
		n.file("sys/class/net/"+link+"/mtu", fmt.Sprintln(mtu))
	}
	return n.fails
}

// agent runs one until the function that it gives is called.
func (n *node) agent() (lending *Lending, stop func()) {
	ctx, cancel := context.WithCancel(n.t.Context())
	l := &Lending{Root: n.root, Uptime: n.uptime, SetMTU: n.set, Node: n}
	l.Open()
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	return l, func() { cancel(); <-done }
}

func (n *node) asks(words ...string) string {
	w, err := Read(words)
	line := ""
	if err == nil {
		line, err = Leave(n.t.Context(), n.root, n.uptime(), w)
	}
	if err != nil {
		return "refused: " + err.Error()
	}
	return line
}

func TestMTUIsLentAndPutBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		l, stop := n.agent()
		if got := n.asks("mtu", "1500", "--for", "1h"); got != "eth0 has an MTU of 1500 for 1h0m0s, then 9001 again" {
			t.Errorf("got %q", got)
		}
		if l.Of("eth0") != 1500 || l.Of("eth1") != 0 || n.page.Network.Lent == nil || n.page.Network.Lent.Was != 9001 {
			t.Errorf("got %+v", n.page.Network.Lent)
		}
		stop() // the agent dies, and another takes over
		l, stop = n.agent()
		if l.Of("eth0") != 1500 {
			t.Error("the agent that starts anew does not know of it")
		}
		time.Sleep(time.Hour + 2*time.Second)
		synctest.Wait()
		if got := MTU(n.root, "eth0"); got != 9001 || l.Of("eth0") != 0 || n.page.Network.Lent != nil {
			t.Errorf("an hour later: got %d, lent %+v", got, n.page.Network.Lent)
		}
		stop()
		want := []string{"eth0 has an MTU of 1500 until 3600 s after the start, then 9001 again", "eth0 has an MTU of 9001 again"}
		if !slices.Equal(n.said, want) {
			t.Errorf("said %q, want %q", n.said, want)
		}
	})
}

func TestMTUIsPutBackWhenAPersonSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		_, stop := n.agent()
		defer stop()
		for _, c := range []struct{ words, want string }{
			{"mtu back", "refused: no MTU was set for a while"},
			{"mtu 1400 --on eth1", "eth1 has an MTU of 1400 for 2h0m0s, then 9001 again"},
			{"mtu 1300 --on eth1", "eth1 has an MTU of 1300 for 2h0m0s, then 9001 again"},
			{"mtu 1500", "eth0 has an MTU of 1500 for 2h0m0s, then 9001 again"},
			{"mtu back", "eth0 has an MTU of 9001"},
			{"mtu 1500 --on eth7", "refused: there is no interface eth7"},
			{"mtu 70", `refused: want an MTU from 576 to 9216, have "70"`},
			{"mtu 1500 --for ever", `refused: want a time such as 2h, at most a week, have "ever"`},
			{"mtu 1500 --for", "refused: " + Usage},
			{"mtu 1500 --at eth0", "refused: " + Usage},
			{"", "refused: " + Usage},
		} {
			if got := n.asks(strings.Fields(c.words)...); got != c.want {
				t.Errorf("%s: got %q, want %q", c.words, got, c.want)
			}
		}
		if MTU(n.root, "eth1") != 9001 {
			t.Error("eth1 has not got its own back when eth0 was asked for")
		}
	})
}

func TestMTUThatTheCardRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t)
		n.fails = errors.New("set the MTU of eth0 to 9216: invalid argument")
		_, stop := n.agent()
		defer stop()
		want := "refused: the agent has not set an MTU of 9216 on eth0 within 5s; see the problems in /run/grove/status.json"
		if got := n.asks("mtu", "9216"); got != want || n.about["mtu"] != n.fails.Error() {
			t.Errorf("got %q, problem %q", got, n.about["mtu"])
		}
	})
}
