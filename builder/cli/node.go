package cli

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"grove/builder/secrets"
	"grove/internal/diag"
	"grove/internal/load"
	"grove/internal/settings"
	"grove/internal/spec"
)

// nodeVerb is for what makes one node of many: its node.yaml, and the secrets that go into it.
func nodeVerb() *cobra.Command {
	c := &cobra.Command{Use: "node", Short: "a node's own file, node.yaml: its name, its settings, its cluster's secrets"}
	c.AddCommand(nodeSecrets(), nodeWrite(), nodeCheck())
	onlyVerbs(c)
	return c
}

func nodeSecrets() *cobra.Command {
	var file, user string
	c := &cobra.Command{Use: "secrets", Short: "make a cluster's secrets: the key that its members know each other by, and the operator's login", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			s, err := secrets.Make(rand.Reader, user)
			if err != nil {
				return usage{err}
			}
			if err := secrets.Write(file, s); err != nil {
				return kept(file, err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: the key of one cluster, and its operator's login, user %s; readable for you alone. Keep it: it is in no image, and no node gives it back.\n", file, user)
			return nil
		}}
	c.Flags().StringVarP(&file, "out", "o", "cluster.secrets.yaml", "the file, which must not exist")
	c.Flags().StringVar(&user, "user", "admin", "the operator's name")
	return c
}

// kept is the error of a file that is not written over.
func kept(file string, err error) error {
	if errors.Is(err, fs.ErrExist) {
		return refusal{fmt.Errorf("%s exists, and may be the only copy of what is in it; give another name by -o, or remove it", file)}
	}
	return err
}

func nodeWrite() *cobra.Command {
	var file, shared, own string
	c := &cobra.Command{Use: "write HOSTNAME", Short: "write a node.yaml, which goes to grove/node.yaml on the node's boot partition", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			text, err := personal(args[0], shared, own)
			if err != nil {
				return err
			}
			if file == "" {
				file = args[0] + ".node.yaml"
			}
			if err := secrets.Private(file, text); err != nil {
				return kept(file, err)
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: copy it to %s on the boot partition of %s, which opens on any PC\n", file, spec.NodeFile, args[0])
			return nil
		}}
	c.Flags().StringVarP(&file, "out", "o", "", "the file, which must not exist (default HOSTNAME.node.yaml)")
	c.Flags().StringVar(&shared, "secrets", "", "the cluster's, as grove node secrets made them; without them the node can be in no replica set with access control")
	c.Flags().StringVar(&own, "settings", "", "a file with settings of this node alone, such as its address: what node.yaml may hold")
	return c
}

// personal puts a node.yaml together. The settings' own file stands in it as it was written, comments too.
func personal(hostname, shared, own string) ([]byte, error) {
	if why := settings.CheckHostname(hostname); why != "" {
		return nil, usage{fmt.Errorf("hostname: %s", why)}
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	var p spec.Personal
	if own != "" {
		var doc yaml.Node
		data, err := os.ReadFile(own)
		if err != nil {
			return nil, err
		}
		if p, err = parsePersonal(own, data); err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(data, &doc); err != nil {
			return nil, err
		}
		root = doc.Content[0]
	}
	if p.Hostname != "" && p.Hostname != hostname {
		return nil, usage{fmt.Errorf("%s is of %s, not of %s", own, p.Hostname, hostname)}
	}
	if p.Hostname == "" {
		if err := put(root, "hostname", hostname); err != nil {
			return nil, err
		}
	}
	if shared != "" {
		s, err := secrets.Read(shared)
		if err != nil {
			return nil, err
		}
		if p.Secrets != (spec.Secrets{}) {
			return nil, usage{fmt.Errorf("%s has secrets already; leave them out there, or --secrets here", own)}
		}
		if err := put(root, "secrets", s); err != nil {
			return nil, err
		}
	}
	return yaml.Marshal(root)
}

// put adds a key at the end of a mapping.
func put(to *yaml.Node, key string, value any) error {
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		return fmt.Errorf("BUG: write %s: %w", key, err)
	}
	to.Content = append(to.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, &n)
	return nil
}

func nodeCheck() *cobra.Command {
	return &cobra.Command{Use: "check FILE...", Short: "find all that a node would refuse in its node.yaml", Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return checkNodes(c.OutOrStdout(), args) }}
}

func checkNodes(out io.Writer, files []string) error {
	var all diag.Findings
	for _, file := range files {
		p, err := readPersonal(file)
		var found diag.Findings
		switch {
		case errors.As(err, &found):
			all = append(all, found...)
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "%s: nothing found: %s\n", file, strings.Join(about(p), ", "))
		}
	}
	return all.Err()
}

func about(p spec.Personal) []string {
	words := []string{"the node's name comes by DHCP"}
	if p.Hostname != "" {
		words[0] = p.Hostname
	}
	if p.Secrets.Key != "" {
		words = append(words, "with a cluster's key")
	}
	if p.Secrets.Operator.User != "" {
		words = append(words, "operator "+p.Secrets.Operator.User)
	}
	return words
}

func readPersonal(file string) (spec.Personal, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return spec.Personal{}, err
	}
	return parsePersonal(file, data)
}

func parsePersonal(file string, data []byte) (p spec.Personal, err error) {
	source, found := load.YAML(file, data, &p)
	settings.CheckPersonal(p, func(key, format string, values ...any) {
		if !told(found, key) {
			found = append(found, source.Finding(key, fmt.Sprintf(format, values...)))
		}
	})
	return p, found.Err()
}
