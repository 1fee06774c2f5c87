package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Metadata is where an EC2 instance finds out about itself. It is a link-local address, that of no machine on the Internet.
const Metadata = "http://169.254.169.254"

// OnEC2 tells by the firmware whether this is an EC2 instance: Nitro calls its maker so, Xen has the word in its version (4.11.amazon).
func OnEC2(root string) bool {
	for file, word := range map[string]string{"sys_vendor": "Amazon EC2", "board_vendor": "Amazon EC2", "bios_version": "amazon", "product_version": "amazon"} {
		data, err := os.ReadFile(root + "/sys/class/dmi/id/" + file)
		if err == nil && strings.Contains(string(data), word) {
			return true
		}
	}
	return false
}

// Bounds of asking. User data has 16 KiB at the most.
const (
	answers  = 5 * time.Second
	attempts = 3
	mostData = 64 << 10
)

// UserData gets the instance's user data from the metadata service at base, by version 2 of its protocol (IMDSv2): a token first, with PUT, then the data. nil without an error:
// the instance has none, or the service is switched off. Version 1, which answers whoever makes the node fetch an address, is never spoken.
func UserData(ctx context.Context, base string) (data []byte, err error) {
	return get(ctx, base, "/latest/user-data", "the user data")
}

// PublicKey gets the SSH key that the instance was launched with, lines as authorized_keys has them, in the same way; none without an error means the same.
func PublicKey(ctx context.Context, base string) ([]string, error) {
	data, err := get(ctx, base, "/latest/meta-data/public-keys/0/openssh-key", "the instance's SSH key")
	return strings.FieldsFunc(string(data), func(r rune) bool { return r == '\n' || r == '\r' }), err
}

func get(ctx context.Context, base, path, what string) (data []byte, err error) {
	client := &http.Client{Timeout: answers, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for attempt := 1; ; attempt++ {
		if data, err = getOnce(ctx, client, base, path); err == nil || ctx.Err() != nil || attempt == attempts {
			break
		}
		select {
		case <-time.After(300 * time.Millisecond << attempt):
		case <-ctx.Done():
		}
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", what, err)
	}
	return data, nil
}

func getOnce(ctx context.Context, client *http.Client, base, path string) ([]byte, error) {
	code, token, err := ask(ctx, client, http.MethodPut, base+"/latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds", "300")
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusForbidden || code == http.StatusNotFound || code == http.StatusMethodNotAllowed:
		return nil, nil // switched off
	case code != http.StatusOK:
		return nil, fmt.Errorf("ask for a token: %s", http.StatusText(code))
	}
	code, data, err := ask(ctx, client, http.MethodGet, base+path, "X-aws-ec2-metadata-token", string(token))
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusNotFound:
		return nil, nil
	case code != http.StatusOK:
		return nil, errors.New(http.StatusText(code))
	case len(data) > mostData:
		return nil, fmt.Errorf("want at most %d KiB", mostData>>10)
	}
	return data, nil
}

func ask(ctx context.Context, client *http.Client, method, url, header, value string) (code int, body []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set(header, value)
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(io.LimitReader(response.Body, mostData+1))
	return response.StatusCode, body, err
}
