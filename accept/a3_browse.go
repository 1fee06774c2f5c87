package main

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"grove/internal/host"
)

// a3Browse: the page for the data, before the image's own mongod with access control.
func a3Browse() []check {
	return []check{
		{name: "a3.browse.mongod", says: "the page for the data: mongod checks the password by SCRAM and decides who sees what; a filter has its time; nothing runs and nothing is written", within: 6 * time.Minute,
			beside: true, run: withMongod("./firstboot/browse", ".", "TestMongodDecidesWhoSeesWhat")},
		{name: "a3.browse.node", says: "a node's data seen through SSH by a user of mongod's; its port answers nobody else", within: 6 * time.Minute, beside: true, run: browsedThroughSSH},
	}
}

// withMongod runs the tests of a package that need a real mongod, which is the image's own with its loader and libraries.
func withMongod(pkg, pattern, must string) func(context.Context, *bench) (string, error) {
	return func(ctx context.Context, b *bench) (string, error) {
		m, err := b.mongod(ctx)
		if err != nil {
			return "", err
		}
		command := []string{filepath.Join(m.usr, "lib64/ld-linux-x86-64.so.2"), "--library-path", filepath.Join(m.usr, "lib/x86_64-linux-gnu"), filepath.Join(m.usr, "bin/mongod")}
		r := b.program(ctx, host.Command{Path: "go", Args: []string{"test", "-count=1", "-v", "-run", pattern, pkg}, Env: []string{"GROVE_TEST_MONGOD=" + strings.Join(command, " ")}})
		if r.code != 0 || strings.Contains(r.out, "--- SKIP") || !strings.Contains(r.out, "--- PASS: "+must) {
			return "", errors.New(r.out)
		}
		return strings.Join(regexp.MustCompile(`(?m)^--- PASS: .*$|^.*_test\.go:\d+: .*$`).FindAllString(r.out, -1), "\n"), nil
	}
}
