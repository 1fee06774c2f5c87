package firewall

import (
	"fmt"
	"net"
	"net/netip"
	"strings"

	"github.com/google/nftables/binaryutil"
	"github.com/google/nftables/expr"
)

// Rule is a line of a chain: conditions, then what is done with a packet that meets them all.
type Rule []part

// part is a piece of a rule, in the words of nft and in the kernel's.
type part struct {
	text string
	does []expr.Any
}

func rule(parts ...part) Rule { return parts }

// String is the rule as nft has it.
func (r Rule) String() string {
	var words []string
	for _, p := range r {
		words = append(words, p.text)
	}
	return strings.Join(words, " ")
}

func (r Rule) expressions() (all []expr.Any) {
	for _, p := range r {
		all = append(all, p.does...)
	}
	return all
}

// Numbers of linux/in.h and linux/netfilter.h.
const (
	protoICMP, protoTCP, protoUDP, protoICMP6 = 1, 6, 17, 58
	familyIPv4, familyIPv6                    = 2, 10
)

// What is done.
var (
	accept  = part{"accept", []expr.Any{&expr.Verdict{Kind: expr.VerdictAccept}}}
	drop    = part{"drop", []expr.Any{&expr.Verdict{Kind: expr.VerdictDrop}}}
	notrack = part{"notrack", []expr.Any{&expr.Notrack{}}}
)

// Conditions. The loopback interface is the first of every Linux. Pings are answered so often that no person misses one, and no more.
var (
	onLoopback   = part{`iif "lo"`, []expr.Any{&expr.Meta{Key: expr.MetaKeyIIF, Register: 1}, equal(binaryutil.NativeEndian.PutUint32(1))}}
	stateKnown   = part{"ct state established,related", state(expr.CtStateBitESTABLISHED | expr.CtStateBitRELATED)}
	stateInvalid = part{"ct state invalid", state(expr.CtStateBitINVALID)}
	seldom       = part{"limit rate 20/second burst 50 packets", []expr.Any{&expr.Limit{Type: expr.LimitTypePkts, Rate: 20, Unit: expr.LimitTimeSecond, Burst: 50}}}
	dhcpAnswer   = part{"udp sport 67 udp dport 68", append(protocol(protoUDP), sourcePort, equal(port(67)), destinationPort, equal(port(68)))}
	notOpening   = part{"tcp flags != syn / syn,ack", []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 13, Len: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 1, Mask: []byte{0x12}, Xor: []byte{0}},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: []byte{0x02}}}}
)

func equal(data []byte) expr.Any { return &expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: data} }

func port(number int) []byte { return binaryutil.BigEndian.PutUint16(uint16(number)) }

func protocol(number byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1}, equal([]byte{number})}
}

func family(number byte) []expr.Any {
	return []expr.Any{&expr.Meta{Key: expr.MetaKeyNFPROTO, Register: 1}, equal([]byte{number})}
}

func state(bits uint32) []expr.Any {
	zero := make([]byte, 4)
	return []expr.Any{&expr.Ct{Key: expr.CtKeySTATE, Register: 1},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: 4, Mask: binaryutil.NativeEndian.PutUint32(bits), Xor: zero},
		&expr.Cmp{Op: expr.CmpOpNeq, Register: 1, Data: zero}}
}

// The ports are the first four bytes of a TCP or UDP header.
var (
	sourcePort      = &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 2}
	destinationPort = &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2}
)

func tcpTo(number int) part {
	return part{fmt.Sprintf("tcp dport %d", number), append(protocol(protoTCP), destinationPort, equal(port(number)))}
}

func tcpFrom(number int) part {
	return part{fmt.Sprintf("tcp sport %d", number), append(protocol(protoTCP), sourcePort, equal(port(number)))}
}

// Where the addresses stand in a header: source and destination of IPv4 (RFC 791) and of IPv6 (RFC 8200).
func from(n netip.Prefix) part { return address("saddr", n, 12, 8) }

func to(n netip.Prefix) part { return address("daddr", n, 16, 24) }

func address(word string, n netip.Prefix, at4, at6 uint32) part {
	name, number, at, length := "ip", byte(familyIPv4), at4, 4
	if n.Addr().Is6() {
		name, number, at, length = "ip6", familyIPv6, at6, 16
	}
	text := n.String()
	if n.IsSingleIP() {
		text = n.Addr().String()
	}
	mask := net.CIDRMask(n.Bits(), 8*length)
	return part{fmt.Sprintf("%s %s %s", name, word, text), append(family(number),
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: at, Len: uint32(length)},
		&expr.Bitwise{SourceRegister: 1, DestRegister: 1, Len: uint32(length), Mask: mask, Xor: make([]byte, length)},
		equal(n.Addr().AsSlice()))}
}

// icmpType is the first byte of an ICMP message, by nft's names.
type icmpType struct {
	proto  byte
	number byte
	name   string
}

var (
	unreachable       = icmpType{protoICMP, 3, "destination-unreachable"} // code 4 of it: the packet is too large
	echoRequest       = icmpType{protoICMP, 8, "echo-request"}
	timeExceeded      = icmpType{protoICMP, 11, "time-exceeded"}
	parameterProblem  = icmpType{protoICMP, 12, "parameter-problem"}
	tooBig6           = icmpType{protoICMP6, 2, "packet-too-big"}
	routerAdvert6     = icmpType{protoICMP6, 134, "nd-router-advert"}
	neighbourSolicit6 = icmpType{protoICMP6, 135, "nd-neighbor-solicit"}
	neighbourAdvert6  = icmpType{protoICMP6, 136, "nd-neighbor-advert"}
)

func icmp(kind icmpType) part {
	word, over := "icmp", byte(familyIPv4)
	if kind.proto == protoICMP6 {
		word, over = "icmpv6", familyIPv6
	}
	does := append(family(over), protocol(kind.proto)...)
	return part{word + " type " + kind.name, append(does, &expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 0, Len: 1}, equal([]byte{kind.number}))}
}
