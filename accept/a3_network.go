package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"grove/builder/lab"
	"grove/builder/lab/network"
	"grove/internal/spec"
)

// a3Network: addresses, names, MTU and time, and what becomes of a node without them.
func a3Network() []check {
	return []check{
		{name: "a3.2", says: "a node by DHCP and one with its own address: MTU on the interface, names, and the time after a hardware clock of 1970", within: 8 * time.Minute, run: dhcpAndStatic},
		{name: "a3.6.ntp", says: "the time server is silent: mongod starts, the console and the page say so", within: 6 * time.Minute, beside: true,
			run: spoilt(network.Offers{NTPSilent: true}, spec.Network{}, silentNTP)},
		{name: "a3.6.dhcp", says: "DHCP is silent: the node stays up with mongod, the console and the page say so", within: 6 * time.Minute, beside: true,
			run: spoilt(network.Offers{DHCPSilent: true}, spec.Network{}, silentDHCP)},
		{name: "a3.6.mtu", says: "an MTU that the network does not carry is named; another is set for a while and put back", within: 6 * time.Minute, beside: true,
			run: spoilt(network.Offers{Carries: 1500}, spec.Network{MTU: 9001}, wrongMTU)},
		{name: "a3.6.hostname", says: "two nodes of one hostname: the second says who has it, too", within: 8 * time.Minute, run: twins},
	}
}

// netPage is what is looked at in status.json here.
type netPage struct {
	Node      string   `json:"node"`
	Phase     string   `json:"phase"`
	Addresses []string `json:"addresses"`
	Problems  []string `json:"problems"`
	Agent     struct {
		Restarts int `json:"restarts"`
	} `json:"agent"`
	Network struct {
		Links []struct {
			Name    string `json:"name"`
			Address string `json:"address"`
			Gateway string `json:"gateway"`
			By      string `json:"by"`
			MTU     int    `json:"mtu"`
		} `json:"links"`
	} `json:"network"`
	Clock struct {
		Synced  bool    `json:"synced"`
		Guessed bool    `json:"guessed"`
		Offset  float64 `json:"offset"`
		Server  string  `json:"server"`
	} `json:"clock"`
}

func (r *rig) netPage(ctx context.Context) (p netPage, err error) {
	text, err := r.sh(ctx, "cat /run/grove/status.json")
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("status.json: %w: %s", err, text)
	}
	return p, nil
}

// becomes waits until the node's page is as wanted. Its last state stands in the error.
func (r *rig) becomes(ctx context.Context, what string, wanted func(netPage) bool) (p netPage, err error) {
	limit, cancel := context.WithTimeout(ctx, 150*time.Second)
	defer cancel()
	for {
		if p, err = r.netPage(ctx); err != nil {
			return p, err
		}
		if wanted(p) {
			return p, nil
		}
		select {
		case <-time.After(2 * time.Second):
		case <-limit.Done():
			return p, fmt.Errorf("%s has not become so: %s: %+v", r.node, what, p)
		}
	}
}

// problem waits for one that has all the words.
func (r *rig) problem(ctx context.Context, words ...string) (sentence string, err error) {
	_, err = r.becomes(ctx, "a problem with "+strings.Join(words, ", "), func(p netPage) bool {
		for _, sentence = range p.Problems {
			missing := false
			for _, w := range words {
				missing = missing || !strings.Contains(sentence, w)
			}
			if !missing {
				return true
			}
		}
		return false
	})
	return sentence, err
}

// heard is an error unless the node has said the words on its console.
func (r *rig) heard(words string) error {
	for _, n := range r.lab.Nodes() {
		if n.Name != r.node {
			continue
		}
		log, err := os.ReadFile(n.Serial)
		if err == nil && !strings.Contains(string(log), words) {
			err = fmt.Errorf("the console of %s does not say %q; see %s", r.node, words, n.Serial)
		}
		return err
	}
	return errors.New("BUG: no node " + r.node)
}

// spoilt boots one node of the demo, with these settings, on a network that is not as it should be. Its hardware's clock is that of a board without a battery.
func spoilt(offers network.Offers, n spec.Network, look func(context.Context, *rig) (string, error)) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		c, err := b.config(ctx, "bios", "virtio")
		if err != nil {
			return "", err
		}
		c.Nodes[0].Network, c.Network, c.Dates = n, offers, []string{"1970-01-01"}
		return inLab(ctx, c, "db1", look)
	}
}

func inLab(ctx context.Context, c lab.Config, node string, look func(context.Context, *rig) (string, error)) (string, error) {
	c.Boot, c.Silence = 5*time.Minute, 5*time.Minute
	l, err := lab.Up(ctx, c)
	if err != nil {
		return "", err
	}
	r := &rig{lab: l, node: node}
	defer r.close(ctx)
	figure, err := look(ctx, r)
	return figure, r.blame(err)
}

func silentNTP(ctx context.Context, r *rig) (string, error) {
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	if err := r.heard("clock: no time server has answered within 15s; mongod starts all the same"); err != nil {
		return "", err
	}
	sentence, err := r.problem(ctx, "clock: no time from any server", "10.5.0.1: no answer")
	if err != nil {
		return "", err
	}
	p, err := r.netPage(ctx)
	if err == nil && (p.Phase != "serving" || p.Clock.Synced || !p.Clock.Guessed) {
		err = fmt.Errorf("the page has %+v", p)
	}
	return sentence, err
}

func silentDHCP(ctx context.Context, r *rig) (string, error) {
	wait, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	if _, err := r.lab.Expect(wait, r.node, regexp.MustCompile(`mongod: \S+ answers on`)); err != nil { // from outside nobody reaches it
		return "", err
	}
	sentence, err := r.problem(ctx, "network eth0: no address: no DHCP server answers")
	if err != nil {
		return "", err
	}
	p, err := r.becomes(ctx, "serving", func(p netPage) bool { return p.Phase == "serving" })
	if err == nil && len(p.Addresses) > 0 {
		err = fmt.Errorf("it has %v", p.Addresses)
	}
	if err == nil {
		err = r.heard("network: eth0: no DHCP server answers; it is tried again")
	}
	return sentence, err
}

func wrongMTU(ctx context.Context, r *rig) (string, error) {
	if err := r.lab.Wait(ctx); err != nil {
		return "", err
	}
	sentence, err := r.problem(ctx, "packets of 9001 bytes do not reach 10.5.0.1, those of 1500 do")
	if err != nil {
		return "", err
	}
	lent, err := r.sh(ctx, "/init network mtu 1500 --for 20s")
	if err == nil && lent != "eth0 has an MTU of 1500 for 20s, then 9001 again" {
		err = fmt.Errorf("network mtu 1500 says %q", lent)
	}
	if err == nil {
		_, err = r.becomes(ctx, "an MTU of 9001 again", func(p netPage) bool { return len(p.Network.Links) == 1 && p.Network.Links[0].MTU == 9001 })
	}
	if err == nil {
		err = r.heard("network: eth0 has an MTU of 9001 again")
	}
	return sentence + "; " + lent, err
}

// twins are called db1 both; the lab tells them apart as db1 and twin.
func twins(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	c.Nodes, c.Names = append(c.Nodes, c.Nodes[0]), []string{"db1", "twin"}
	return inLab(ctx, c, "twin", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		return r.problem(ctx, "another machine, 10.5.0.11, is called db1.lab.internal as well")
	})
}

// dhcpAndStatic has db1 ask for everything, and db2 be told everything.
func dhcpAndStatic(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	second := spec.Personal{Hostname: "db2"}
	second.Network = spec.Network{DNS: []string{"10.5.0.1"}, Search: []string{network.Domain}, Hosts: map[string]string{"first": "10.5.0.11"}, NTP: []string{"10.5.0.1"},
		Interfaces: []spec.Interface{{MAC: network.At(1, "db2").MAC, Address: "10.5.0.12/24", Gateway: "10.5.0.1", MTU: 1400}}}
	c.Nodes, c.Dates, c.Network = append(c.Nodes, second), []string{"1970-01-01", "1970-01-01"}, network.Offers{MTU: 1450}
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		one, err := r.connected(ctx, "10.5.0.11/24", "DHCP", 1450, "db2", "db2.lab.internal")
		if err != nil {
			return "", err
		}
		two := rig{lab: r.lab, node: "db2"}
		other, err := two.connected(ctx, "10.5.0.12/24", "settings", 1400, "db1", "first")
		return one + "\n" + other, err
	})
}

// connected looks at a node's address, MTU, names and time, and whether they outlive its agent.
func (r *rig) connected(ctx context.Context, address, by string, mtu int, names ...string) (string, error) {
	p, err := r.becomes(ctx, "its clock is set", func(p netPage) bool { return p.Clock.Synced })
	if err != nil {
		return "", err
	}
	if l := p.Network.Links; len(l) != 1 || l[0].Address != address || l[0].By != by || l[0].MTU != mtu || l[0].Gateway != "10.5.0.1" || len(p.Problems) > 0 {
		return "", fmt.Errorf("the page of %s has %+v, problems %q", r.node, l, p.Problems)
	}
	has, err := r.sh(ctx, "cat /sys/class/net/eth0/mtu")
	if err == nil && has != fmt.Sprint(mtu) {
		err = fmt.Errorf("eth0 of %s has an MTU of %s, want %d", r.node, has, mtu)
	}
	for _, name := range names {
		if err == nil {
			_, err = r.sh(ctx, "ping -c 1 -w 5000 "+name)
		}
	}
	var off time.Duration
	if err == nil {
		off, err = r.clockOff(ctx)
	}
	if err == nil {
		_, err = r.sh(ctx, "kill -9 $(cat /run/grove/agent.pid)")
	}
	if err == nil {
		p, err = r.becomes(ctx, "the same after its agent", func(p netPage) bool {
			return p.Agent.Restarts == 1 && len(p.Network.Links) == 1 && p.Network.Links[0].Address == address && p.Phase == "serving"
		})
	}
	return fmt.Sprintf("%s has %s by %s, MTU %d, finds %s, its clock is off by less than %s (by %s)", r.node, address, by, mtu, strings.Join(names, " and "), off.Round(10*time.Millisecond),
		p.Clock.Server), err
}

// clockOff says by how much the node's clock can be off at the most; `date` has whole seconds, and the console takes its time.
func (r *rig) clockOff(ctx context.Context) (time.Duration, error) {
	before := time.Now()
	text, err := r.sh(ctx, "date -u +%Y-%m-%dT%H:%M:%S")
	if err != nil {
		return 0, err
	}
	after := time.Now()
	its, err := time.Parse("2006-1-02T15:04:05", text)
	if err != nil {
		return 0, err
	}
	off := max(after.Sub(its), its.Add(time.Second).Sub(before), 0)
	if off > 10*time.Second {
		return 0, fmt.Errorf("the clock of %s is %s, here it was %s", r.node, text, before.UTC().Format(time.DateTime))
	}
	return off, nil
}
