package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const resolves = 3 * time.Second

// Name asks one DNS server for the IPv4 addresses of a name. No address without an error means that there is no such name. It does not look into /etc/hosts, as the
// resolver of the system does: that is where the node's own idea of its name stands.
func Name(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error) {
	found, err := lookUp(ctx, server, name)
	if err != nil {
		return nil, fmt.Errorf("ask %s for %s: %w", server.Addr(), name, err)
	}
	return found, nil
}

func lookUp(ctx context.Context, server netip.AddrPort, name string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolves)
	defer cancel()
	id := uint16(rand.N(1 << 16))
	question, err := asked(id, name)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "udp", server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if end, has := ctx.Deadline(); has {
		_ = conn.SetDeadline(end)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if _, err := conn.Write(question); err != nil {
		return nil, err
	}
	for buffer := make([]byte, 1500); ; {
		n, err := conn.Read(buffer)
		if err != nil {
			return nil, err
		}
		if found, ours, err := answered(buffer[:n], id); ours {
			return found, err
		}
	}
}

func asked(id uint16, name string) ([]byte, error) {
	full, err := dnsmessage.NewName(strings.TrimSuffix(name, ".") + ".")
	if err != nil {
		return nil, err
	}
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: full, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	return m.Pack()
}

// answered reads a message; ours is false if it answers another question.
func answered(data []byte, id uint16) (found []netip.Addr, ours bool, err error) {
	var m dnsmessage.Message
	if err := m.Unpack(data); err != nil || m.ID != id || !m.Response {
		return nil, false, nil
	}
	switch m.RCode {
	case dnsmessage.RCodeSuccess, dnsmessage.RCodeNameError:
	default:
		return nil, true, errors.New(strings.TrimPrefix(m.RCode.String(), "RCode"))
	}
	for _, a := range m.Answers {
		if body, is := a.Body.(*dnsmessage.AResource); is {
			found = append(found, netip.AddrFrom4(body.A))
		}
	}
	return found, true, nil
}
