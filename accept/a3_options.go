package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"

	"grove/internal/host"
	"grove/internal/mongoconf"
)

// enterprise are settings that the community's server does not have.
var enterprise = regexp.MustCompile(`^(auditLog|snmp|storage\.inMemory\..*|net\.(ssl|tls)\.FIPSMode|security\.(redactClientLogData|enableEncryption|encryption.*|kmip|ldap))$`)

// optionsOfMongod asks the demo's mongod about each setting that the table has, and about each word in its binary that looks like one.
func optionsOfMongod(ctx context.Context, b *bench) (string, error) {
	m, err := b.mongod(ctx)
	if err != nil {
		return "", err
	}
	known := mongoconf.Known("6.0.5")
	var wrong []string
	asked := 0
	for _, key := range sortedKeys(known) {
		if enterprise.MatchString(key) {
			continue
		}
		asked++
		if has, err := m.has(ctx, b, key, known[key]); err != nil {
			return "", err
		} else if !has {
			wrong = append(wrong, "mongod does not know "+key)
		}
	}
	words, err := m.words()
	if err != nil {
		return "", err
	}
	for _, word := range words {
		if _, is := known[word]; is {
			continue
		}
		if has, err := m.has(ctx, b, word, "1"); err != nil {
			return "", err
		} else if has {
			wrong = append(wrong, "mongod knows "+word)
		}
	}
	if len(wrong) > 0 {
		return "", fmt.Errorf("%s", strings.Join(wrong, "\n"))
	}
	return fmt.Sprintf("%d settings asked, %d words of the binary", asked, len(words)), nil
}

// server is a mongod with the loader and the libraries of its image.
type server struct{ usr, dir string }

func (b *bench) mongod(ctx context.Context) (server, error) {
	file, err := b.partition(ctx, "system-a")
	if err != nil {
		return server{}, err
	}
	dir := b.folder("mongod")
	_, err = b.tool(ctx, "unsquashfs", "-no-progress", "-no-xattrs", "-f", "-d", filepath.Join(dir, "usr"), file)
	return server{filepath.Join(dir, "usr"), dir}, err
}

// has tells whether the server knows a setting, whatever it has to say of the value.
func (s server) has(ctx context.Context, b *bench, key, value string) (bool, error) {
	names := strings.Split(key, ".")
	text := ""
	for depth, name := range names {
		text += strings.Repeat("  ", depth) + name + ":"
		if depth == len(names)-1 {
			text += " " + value
		}
		text += "\n"
	}
	file := filepath.Join(s.dir, "mongod.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return false, err
	}
	r := b.program(ctx, host.Command{Path: filepath.Join(s.usr, "lib64/ld-linux-x86-64.so.2"),
		Args: []string{"--library-path", filepath.Join(s.usr, "lib/x86_64-linux-gnu"), filepath.Join(s.usr, "bin/mongod"), "--config", file, "--outputConfig"}})
	if r.out == "" || strings.Contains(r.out, "error while loading") {
		return false, fmt.Errorf("ask mongod for %s: exit code %d: %s", key, r.code, r.out)
	}
	return !strings.Contains(r.out, "Unrecognized option"), nil
}

var optionWord = regexp.MustCompile(`\x00((?:storage|systemLog|net|security|processManagement|replication|sharding|operationProfiling|cloud)\.[A-Za-z._]*[A-Za-z])`)

// words are those of the binary that look like a setting.
func (s server) words() ([]string, error) {
	data, err := os.ReadFile(filepath.Join(s.usr, "bin/mongod"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, at := range optionWord.FindAllSubmatchIndex(data, -1) {
		if end := at[3]; end < len(data) && data[end] == 0 {
			all = append(all, string(data[at[2]:end]))
		}
	}
	sort.Strings(all)
	all = slices.Compact(all)
	if len(all) < 80 {
		return nil, fmt.Errorf("only %d settings seen in mongod's binary: the search is wrong", len(all))
	}
	return all, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	return keys
}
