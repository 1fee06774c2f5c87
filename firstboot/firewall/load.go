package firewall

import (
	"context"
	"fmt"
	"time"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
)

// Modules are the kernel's for these rules. What they need themselves (nf_conntrack) comes with them.
var Modules = []string{"nf_tables", "nft_ct", "nft_limit"}

// answers is how long the kernel may take. A kernel without nf_tables refuses the whole of a batch in one answer, where one for each part of it is waited for.
const answers = 5 * time.Second

// Load replaces the kernel's rules by these, all at once or not at all.
func Load(ctx context.Context, t Table) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c, err := nftables.New(nftables.WithSockOptions(func(c *netlink.Conn) error { return c.SetDeadline(time.Now().Add(answers)) }))
	if err != nil {
		return fmt.Errorf("open the kernel's packet filter: %w", err)
	}
	fill(c, t)
	if err := c.Flush(); err != nil {
		return fmt.Errorf("load the firewall: %w", err)
	}
	return nil
}

// fill queues the transaction. Chains that are there stay at their hooks and change their rules with one turn of the kernel's generation; a table that was taken away and made
// anew goes, for a moment, through a state in which packets pass (seen: one of 6000 calls to a closed port was answered).
func fill(c *nftables.Conn, t Table) {
	table := c.AddTable(&nftables.Table{Name: Name, Family: nftables.TableFamilyINet})
	c.FlushTable(table)
	for _, one := range t.Chains {
		chain := c.AddChain(&nftables.Chain{Name: one.Name, Table: table, Type: nftables.ChainTypeFilter, Hooknum: hooks[one.Place.Hook], Priority: priorities[one.Place.Priority], Policy: policies[one.Policy]})
		for _, r := range one.Rules {
			c.AddRule(&nftables.Rule{Table: table, Chain: chain, Exprs: r.expressions()})
		}
	}
}

var (
	hooks      = map[string]*nftables.ChainHook{"prerouting": nftables.ChainHookPrerouting, "output": nftables.ChainHookOutput, "input": nftables.ChainHookInput, "forward": nftables.ChainHookForward}
	priorities = map[string]*nftables.ChainPriority{"raw": nftables.ChainPriorityRaw, "filter": nftables.ChainPriorityFilter}
	policies   = map[string]*nftables.ChainPolicy{"drop": policy(nftables.ChainPolicyDrop), "accept": policy(nftables.ChainPolicyAccept)}
)

func policy(p nftables.ChainPolicy) *nftables.ChainPolicy { return &p }
