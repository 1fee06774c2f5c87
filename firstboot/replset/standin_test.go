package replset

import (
	"context"
	"fmt"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"grove/firstboot/replset/member"
	"grove/firstboot/replset/standin"
	"grove/internal/setconf"
	"grove/internal/spec"
)

// The way into a set of MongoDB 3.0 and 3.2, as far as the stand-in goes: the wire, the log-ins, the rules and the replies of those versions.
func TestOldServersBecomeOneSet(t *testing.T) {
	arbiter := hosts(3)
	arbiter[2] = spec.Member{Host: arbiter[2].Host, Arbiter: true}
	for _, version := range []string{"3.0", "3.2"} {
		for name, members := range map[string][]spec.Member{"three": hosts(3), "with an arbiter": arbiter, "four, far apart": hosts(4)} {
			t.Run(version+" "+name, func(t *testing.T) {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				r := &rig{t: t, port: freePort(t), set: spec.ReplicaSet{Name: "rs0", Bootstrap: "all", Members: members}}
				r.keys = spec.Secrets{Key: "Z3JvdmUgdGVzdHMgb25seSwgbm8gc2VjcmV0", Operator: spec.Operator{User: "admin", Password: "for this test alone"}}
				network, far := new(standin.Network), len(members) == 4
				for i, m := range members {
					n := &machine{rig: r, host: m.Host, ip: m.Host, dir: t.TempDir(), secrets: r.keys, problems: map[string]string{}}
					s := &standin.Server{Version: version, Address: fmt.Sprintf("%s:%d", m.Host, r.port), Set: "rs0", Key: string(r.keys.Key), Bypass: i == 0, Far: far, Keep: filepath.Join(n.dir, "standin.bson")}
					if far {
						network = new(standin.Network)
					}
					if err := s.Serve(ctx, network); err != nil {
						t.Fatal(err)
					}
					site := &Site{Set: r.set, Self: n.host, Port: r.port, Local: n.address(), Secrets: r.keys, File: filepath.Join(n.dir, "set.json"), Foreign: func() bool { return false },
						Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(n.host)} }, Loopback: true, Uptime: func() float64 { return 0 }, Node: n}
					gone := make(chan struct{})
					go func() { site.Run(ctx); close(gone) }()
					defer func() { cancel(); <-gone }()
					r.nodes = append(r.nodes, n)
				}
				r.until(time.Minute, func() error {
					for _, n := range r.nodes {
						if err := n.is("member"); err != nil {
							return fmt.Errorf("%w; it said %v", err, n.lines())
						}
					}
					return nil
				})
				m, err := member.Open(r.nodes[0].address(), member.System(string(r.keys.Key)))
				if err != nil {
					t.Fatal(err)
				}
				defer m.Close()
				c, err := m.Config(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if drift := setconf.Drift(c, setconf.Wanted(r.set, r.port)); len(drift) > 0 || c.Voters()%2 == 0 {
					t.Errorf("%d votes, drift %v", c.Voters(), drift)
				}
			})
		}
	}
}
