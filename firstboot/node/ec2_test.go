package node

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"grove/firstboot/disk"
	"grove/internal/host"
)

// metadata is EC2's service as its documentation describes it. It counts who asks by version 1.
type metadata struct {
	token, data int // codes
	text        string
	broken      int // answers that are 503 first
	old         int
}

func (m *metadata) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m.broken > 0 {
		m.broken--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token" && r.Header.Get("X-aws-ec2-metadata-token-ttl-seconds") != "":
		w.WriteHeader(m.token)
		io.WriteString(w, "TOKEN")
	case r.URL.Path == "/latest/user-data" && r.Header.Get("X-aws-ec2-metadata-token") == "TOKEN":
		w.WriteHeader(m.data)
		io.WriteString(w, m.text)
	default:
		m.old++
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func TestUserData(t *testing.T) {
	for _, c := range []struct {
		name    string
		service metadata
		want    string
		none    bool
		err     string
	}{
		{"there", metadata{token: 200, data: 200, text: "hostname: db1\n"}, "hostname: db1\n", false, ""},
		{"none", metadata{token: 200, data: 404}, "", true, ""},
		{"the service is off", metadata{token: 403}, "", true, ""},
		{"the service is not there", metadata{token: 404}, "", true, ""},
		{"the service knows no tokens", metadata{token: 405}, "", true, ""},
		{"late", metadata{token: 200, data: 200, text: "x", broken: 1}, "x", false, ""},
		{"too long", metadata{token: 200, data: 200, text: strings.Repeat("x", 70<<10)}, "", true, "get the user data: want at most 64 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(&c.service)
			defer server.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got, err := UserData(ctx, server.URL)
			if string(got) != c.want || (got == nil) != c.none || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("got %.20q, %v", got, err)
			}
			if c.service.old > 0 {
				t.Error("version 1 was spoken")
			}
		})
	}
}

func TestUserDataIsGivenUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := UserData(ctx, server.URL); err == nil || !strings.HasPrefix(err.Error(), "get the user data: ") {
		t.Errorf("got %v", err)
	}
}

func TestMakerOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		is               bool
	}{
		{"Nitro", "sys_vendor", "Amazon EC2\n", true},
		{"Xen", "bios_version", "4.11.amazon\n", true},
		{"QEMU", "sys_vendor", "QEMU\n", false},
		{"a board without DMI", "other", "", false},
	} {
		root := t.TempDir()
		put(t, root, "sys/class/dmi/id/"+c.file, c.text)
		if OnEC2(root) != c.is {
			t.Errorf("%s: got %v", c.name, !c.is)
		}
	}
}

func TestUserDataComesBeforeTheOtherSources(t *testing.T) {
	root := t.TempDir()
	put(t, root, "proc/cmdline", "grove.hostname=db2")
	for text, want := range map[string]string{"hostname: db1\n": "db1 EC2 user data", "": "db2 kernel command line", "#!/bin/sh\necho\n": " EC2 user data"} {
		got, err := Look(&host.FakeMachine{}, root, disk.Medium{}, func() ([]byte, error) {
			if text == "" {
				return nil, nil
			}
			return []byte(text), nil
		})
		if err != nil || got.Personal.Hostname+" "+got.From != want || strings.HasPrefix(text, "#!") != (len(got.Faults) > 0) {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
}

func TestPublicKey(t *testing.T) {
	const path = "/latest/meta-data/public-keys/0/openssh-key"
	for text, want := range map[string]string{"ssh-ed25519 AAAA ann\n": "ssh-ed25519 AAAA ann", "a\r\nb\n": "a|b", "": ""} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodPut:
				io.WriteString(w, "TOKEN")
			case r.URL.Path != path || r.Header.Get("X-aws-ec2-metadata-token") != "TOKEN":
				w.WriteHeader(http.StatusUnauthorized)
			case text == "":
				w.WriteHeader(http.StatusNotFound)
			default:
				io.WriteString(w, text)
			}
		}))
		defer server.Close()
		if got, err := PublicKey(t.Context(), server.URL); strings.Join(got, "|") != want || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}
