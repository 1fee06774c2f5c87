package lend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"grove/firstboot/status"
)

// Usage is what a person may say.
const Usage = "want network mtu N [--on LINK] [--for 2h], to set an MTU for a while, or network mtu back"

// Wish is a person's. MTU 0 is back.
type Wish struct {
	MTU  int
	Link string // empty: that of the default route
	For  time.Duration
}

const usually, most = 2 * time.Hour, 7 * 24 * time.Hour

// Read understands the words after network.
func Read(args []string) (w Wish, err error) {
	w.For = usually
	if len(args) < 2 || args[0] != "mtu" || len(args)%2 != 0 {
		return w, errors.New(Usage)
	}
	if args[1] == "back" && len(args) == 2 {
		return w, nil
	}
	if w.MTU, err = strconv.Atoi(args[1]); err != nil || w.MTU < 576 || w.MTU > 9216 {
		return w, fmt.Errorf("want an MTU from 576 to 9216, have %q", args[1])
	}
	for i := 2; i < len(args); i += 2 {
		switch args[i] {
		case "--on":
			w.Link = args[i+1]
		case "--for":
			if w.For, err = time.ParseDuration(args[i+1]); err != nil || w.For < time.Second || w.For > most {
				return w, fmt.Errorf("want a time such as 2h, at most a week, have %q", args[i+1])
			}
		default:
			return w, errors.New(Usage)
		}
	}
	return w, nil
}

// Leave leaves the wish for the agent and waits until the kernel has it. It gives what a person may want to read. now is the uptime in seconds.
func Leave(ctx context.Context, root string, now float64, w Wish) (line string, err error) {
	before := read(root)
	if w.MTU == 0 {
		if before == nil {
			return "", errors.New("no MTU was set for a while")
		}
		if err := os.Remove(root + file); err != nil {
			return "", err
		}
		return await(ctx, root, before.Link, before.Was, "")
	}
	lent, err := w.lent(root, now, before)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(lent)
	if err == nil {
		err = status.Replace(root+file, data)
	}
	if err != nil {
		return "", err
	}
	return await(ctx, root, lent.Link, lent.MTU, fmt.Sprintf(" for %s, then %d again", w.For, lent.Was))
}

// lent is the wish with what it leaves open, after the one before.
func (w Wish) lent(root string, now float64, before *status.Lent) (status.Lent, error) {
	if w.Link == "" {
		routes, _ := os.ReadFile(root + "/proc/net/route")
		if w.Link = defaultLink(string(routes)); w.Link == "" {
			return status.Lent{}, errors.New("there is no default route; name the interface by --on")
		}
	}
	l := status.Lent{Link: w.Link, MTU: w.MTU, Was: MTU(root, w.Link), Until: now + w.For.Seconds()}
	if l.Was == 0 {
		return l, fmt.Errorf("there is no interface %s", w.Link)
	}
	if before != nil && before.Link == w.Link {
		l.Was = before.Was
	}
	return l, nil
}

// await waits for the agent, which looks once a second.
func await(ctx context.Context, root, link string, mtu int, while string) (string, error) {
	const may = 5 * time.Second
	ctx, cancel := context.WithTimeout(ctx, may)
	defer cancel()
	look := time.NewTicker(100 * time.Millisecond)
	defer look.Stop()
	for MTU(root, link) != mtu {
		select {
		case <-look.C:
		case <-ctx.Done():
			return "", fmt.Errorf("the agent has not set an MTU of %d on %s within %s; see the problems in %s", mtu, link, may, status.File)
		}
	}
	return fmt.Sprintf("%s has an MTU of %d%s", link, mtu, while), nil
}

// defaultLink is the interface of the default route with the least metric, as /proc/net/route has it: Iface Destination Gateway Flags RefCnt Use Metric Mask.
func defaultLink(table string) (link string) {
	least := -1
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 8 || f[1] != "00000000" || f[7] != "00000000" {
			continue
		}
		if metric, err := strconv.Atoi(f[6]); err == nil && (least < 0 || metric < least) {
			link, least = f[0], metric
		}
	}
	return link
}
