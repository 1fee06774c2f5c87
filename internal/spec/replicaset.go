package spec

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ReplicaSet is the set that a node belongs to. Without a name its mongod serves alone.
type ReplicaSet struct {
	Name      string   `yaml:"name,omitempty" json:"name,omitempty"`
	Members   []Member `yaml:"members,omitempty" json:"members,omitempty"`     // by hostname, in order: only the first ever founds the set
	Bootstrap string   `yaml:"bootstrap,omitempty" json:"bootstrap,omitempty"` // one of Bootstraps
}

// Bootstraps are when the first member may found the set: when every other member has answered that it knows of none (the default), or also when some are silent.
var Bootstraps = []string{"all", "solo"}

// Member is one of the set. In short it is its hostname.
type Member struct {
	Host     string            `yaml:"host" json:"host"`                            // without a port, which is mongod's
	Priority Number            `yaml:"priority,omitempty" json:"priority,omitzero"` // 0 to 1000; 1, or 0 of an arbiter, a hidden member or one without a vote
	Votes    Number            `yaml:"votes,omitempty" json:"votes,omitzero"`       // 0 or 1; without it 1 as far as seven members and an odd number of votes allow
	Hidden   bool              `yaml:"hidden,omitempty" json:"hidden,omitempty"`    // from clients
	Arbiter  bool              `yaml:"arbiter,omitempty" json:"arbiter,omitempty"`  // votes and has no data
	Tags     map[string]string `yaml:"tags,omitempty" json:"tags,omitempty"`        // for read preferences and write concerns
}

// FromText reads the short form.
func (m *Member) FromText(text string) error {
	*m = Member{Host: text}
	return nil
}

// Number is one that may be left out.
type Number struct {
	Set   bool
	Value float64
}

// UnmarshalText reads a finite number.
func (n *Number) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return fmt.Errorf("want a number, have %q", text)
	}
	*n = Number{Set: true, Value: v}
	return nil
}

// MarshalText writes it as it was read.
func (n Number) MarshalText() ([]byte, error) {
	if !n.Set {
		return nil, nil
	}
	return strconv.AppendFloat(nil, n.Value, 'g', -1, 64), nil
}

// IsZero is for YAML's omitempty.
func (n Number) IsZero() bool { return !n.Set }

// Or is the number, or another one where it is left out.
func (n Number) Or(otherwise float64) float64 {
	if n.Set {
		return n.Value
	}
	return otherwise
}

// Secrets are what the nodes of one cluster share and nobody else may have. They come by node.yaml only: an image has none.
type Secrets struct {
	Key      Secret   `yaml:"key,omitempty"` // the replica set's keyFile, 6 to 1024 characters of base64
	Operator Operator `yaml:"operator,omitempty"`
}

// Operator is the first user, for persons.
type Operator struct {
	User     string `yaml:"user,omitempty"`
	Password Secret `yaml:"password,omitempty"`
}

// Secret is a text that no error, log or page shows: it prints as a word. Only YAML, which is how node.yaml is written, has it whole.
type Secret string

// UnmarshalText takes any text without line breaks. Its error does not repeat it.
func (s *Secret) UnmarshalText(text []byte) error {
	if strings.ContainsAny(string(text), "\r\n\x00") {
		return errors.New("want one line of text")
	}
	*s = Secret(text)
	return nil
}

// Confidential keeps it out of what is said of a file (load.Confidential).
func (s Secret) Confidential() {}

// String hides it, from JSON as well.
func (s Secret) String() string {
	if s == "" {
		return "none"
	}
	return "hidden"
}

// GoString is for %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is JSON's.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalYAML gives it whole.
func (s Secret) MarshalYAML() (any, error) { return string(s), nil }
