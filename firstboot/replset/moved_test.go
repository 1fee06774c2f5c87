package replset

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"grove/internal/spec"
)

// hostsFile stands for /etc/hosts, which GROVE_TEST_HOSTS lies over in a mount namespace of the test's own: `unshare -rm`, see accept/a4.go.
func hostsFile(t *testing.T, addresses map[string]string) {
	t.Helper()
	lines := []string{"127.0.0.1 localhost"}
	for name, address := range addresses {
		lines = append(lines, address+" "+name)
	}
	if err := os.WriteFile("/etc/hosts", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestANodeIsTheSameMemberAtAnotherAddress(t *testing.T) {
	if os.Getenv("GROVE_TEST_HOSTS") == "" {
		t.Skip("GROVE_TEST_HOSTS is not set: not tried is a member that moves to another address; make accept ONLY=a4.3 does")
	}
	addresses, members := map[string]string{}, []spec.Member{}
	for i := range 3 {
		name := fmt.Sprintf("grove-test-%d", i+1)
		addresses[name] = fmt.Sprintf("127.0.0.%d", 11+i)
		members = append(members, spec.Member{Host: name})
	}
	hostsFile(t, addresses)
	r := newRig(t, members...)
	for _, n := range r.nodes {
		n.ip = addresses[n.host]
	}
	id := r.together()
	for _, n := range r.nodes { // each in its turn, the primary too
		n.off()
		n.ip = strings.Replace(n.ip, "127.0.0.", "127.0.1.", 1)
		addresses[n.host] = n.ip
		hostsFile(t, addresses)
		n.up()
		r.same(id)
	}
}
