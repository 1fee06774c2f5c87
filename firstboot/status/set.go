package status

// Set is the replica set that the node belongs to, or is on its way into.
type Set struct {
	Name    string      `json:"name"`    // empty without one
	Self    string      `json:"self"`    // the node's own name in it, with the port
	State   string      `json:"state"`   // looking, waiting, founding, joining, member, refused; empty without a set
	Since   float64     `json:"since"`   // of the state
	Text    string      `json:"text"`    // what is done or waited for, a sentence
	Role    string      `json:"role"`    // of mongod: primary, secondary, arbiter, startup2, ...; empty before it is a member
	Primary string      `json:"primary"` // as far as it is known
	Voters  int         `json:"voters"`
	Users   bool        `json:"users"` // the operator and the agent can log in
	Members []SetMember `json:"members"`
	Drift   []string    `json:"drift"` // where the set differs from the recipe, sentences
	Checked []Preflight `json:"checked"`
}

// SetMember is one as the set's configuration has it, and as it was seen last.
type SetMember struct {
	Host     string  `json:"host"`
	State    string  `json:"state"` // primary, secondary, ...; unreachable
	Votes    int     `json:"votes"`
	Priority float64 `json:"priority"`
	Lag      float64 `json:"lag"` // seconds behind the primary; -1 when it is not known
}

// Preflight is one thing that must hold before a node can be a member.
type Preflight struct {
	What  string `json:"what"`
	Fault string `json:"fault,omitempty"` // empty when it holds
}

func (s *Set) fill() {
	if s.Members == nil {
		s.Members = []SetMember{}
	}
	if s.Drift == nil {
		s.Drift = []string{}
	}
	if s.Checked == nil {
		s.Checked = []Preflight{}
	}
}
