package network

import (
	"context"
	"net"
)

// names stands where the DNS server would ask the world: it knows the nodes' bare names and nothing else.
type names map[string]net.IP

func (names) unknown(name string) error {
	return &net.DNSError{Err: "no such host in the lab", Name: name, IsNotFound: true}
}

// LookupIPAddr takes the name with its final dot.
func (n names) LookupIPAddr(_ context.Context, host string) ([]net.IPAddr, error) {
	if ip, ok := n[host]; ok {
		return []net.IPAddr{{IP: ip}}, nil
	}
	return nil, n.unknown(host)
}

func (n names) LookupCNAME(_ context.Context, host string) (string, error) {
	return "", n.unknown(host)
}

func (n names) LookupMX(_ context.Context, name string) ([]*net.MX, error) {
	return nil, n.unknown(name)
}

func (n names) LookupNS(_ context.Context, name string) ([]*net.NS, error) {
	return nil, n.unknown(name)
}

func (n names) LookupSRV(_ context.Context, _, _, name string) (string, []*net.SRV, error) {
	return "", nil, n.unknown(name)
}

func (n names) LookupTXT(_ context.Context, name string) ([]string, error) {
	return nil, n.unknown(name)
}
