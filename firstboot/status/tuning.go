package status

// Tuning is what the node set of the kernel and of mongod's process, and what mongod says of it when it has started.
type Tuning struct {
	Profile  string    `json:"profile"`
	Values   []Tuned   `json:"values"`
	Differs  []string  `json:"differs"`  // where another profile than mongodb leaves MongoDB's advice
	Warnings []Warning `json:"warnings"` // mongod's start-up warnings
}

// Tuned is one setting. Before is the value that the node found when it started.
type Tuned struct {
	Name    string `json:"name"` // vm.swappiness, transparent_hugepage/enabled, vdb/read_ahead_kb, limit nofile, environment GLIBC_TUNABLES
	Path    string `json:"path"` // the file that holds it; of limits and environment it is the process's
	Want    string `json:"want"`
	AtLeast bool   `json:"at_least,omitempty"` // a higher number is as good
	Before  string `json:"before"`
	After   string `json:"after"`
	Source  string `json:"source"` // whose advice it is
	State   string `json:"state"`  // set, same (it was so before), absent (this kernel has no such thing), refused, waits (for mongod's start)
	Why     string `json:"why,omitempty"`
}

// Warning is one of mongod's. Kind is fault (ours: what the node should have set), explained (it follows from the recipe), or other.
type Warning struct {
	Text        string `json:"text"`
	Kind        string `json:"kind"`
	Explanation string `json:"explanation,omitempty"`
}

func (t *Tuning) fill() {
	if t.Values == nil {
		t.Values = []Tuned{}
	}
	if t.Differs == nil {
		t.Differs = []string{}
	}
	if t.Warnings == nil {
		t.Warnings = []Warning{}
	}
}
