package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Answers is what the ports of a node say to a call. Those that say nothing are in neither list.
type Answers struct {
	Open    []int
	Refused []int
}

// Bounds of a sweep: a call is sent again after a second, so two get lost before a port counts as silent.
const (
	callsAtOnce = 1000
	silent      = 3 * time.Second
)

// strangers are the addresses that no seat has and the gateway may answer for: nodes ask who has the one that calls them.
func strangers() (all []string) {
	for last := 11 + Seats; last < 255; last++ {
		all = append(all, fmt.Sprintf("10.5.0.%d", last))
	}
	return all
}

// Sweep calls ports of a node from an address that the gateway takes on for it: of another machine of the network (10.5.0.211 to .254, which no node has), or of
// one beyond it.
func (n *Network) Sweep(ctx context.Context, from, ip string, ports []int) (a Answers, err error) {
	own := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: address(from).WithPrefix()}
	if err := n.stack.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
		return a, fmt.Errorf("take on the address %s: %s", from, err)
	}
	defer n.stack.RemoveAddress(1, own.AddressWithPrefix.Address)
	var mu sync.Mutex
	var all sync.WaitGroup
	free := make(chan struct{}, callsAtOnce)
	for _, port := range ports {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			open, refused, fault := n.call(ctx, from, ip, port)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case open:
				a.Open = append(a.Open, port)
			case refused:
				a.Refused = append(a.Refused, port)
			case fault != nil && err == nil:
				err = fault
			}
		})
	}
	all.Wait()
	slices.Sort(a.Open)
	slices.Sort(a.Refused)
	return a, err
}

func (n *Network) call(ctx context.Context, from, ip string, port int) (open, refused bool, err error) {
	if ctx.Err() != nil {
		return false, false, context.Cause(ctx)
	}
	limit, cancel := context.WithTimeout(ctx, silent)
	defer cancel()
	conn, err := gonet.DialTCPWithBind(limit, n.stack, tcpip.FullAddress{NIC: 1, Addr: address(from)}, tcpip.FullAddress{NIC: 1, Addr: address(ip), Port: uint16(port)}, ipv4.ProtocolNumber)
	switch {
	case err == nil:
		conn.Close()
		return true, false, nil
	case strings.Contains(err.Error(), "refused"): // gVisor's errors are text by here
		return false, true, nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return false, false, nil
	}
	return false, false, fmt.Errorf("call %s:%d from %s: %w", ip, port, from, err)
}
