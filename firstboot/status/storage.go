package status

// Storage is the node's disks, from looking for them to what they are doing now.
type Storage struct {
	State   string    `json:"state"`           // looking, waiting, making, refused, ready; empty when the image asks for none
	Since   float64   `json:"since"`           // of the state
	ReadyS  float64   `json:"ready_s"`         // from the agent's start until all was mounted
	Plan    []string  `json:"plan"`            // what is still to be done, sentences
	Done    []string  `json:"done"`            // what was done since the node's start
	Waits   []string  `json:"waits"`           // for what, with the seconds that are left
	Refused []Refusal `json:"refused"`         // what is not touched, and why
	Notes   []string  `json:"notes"`           // what differs from the recipe and is served nonetheless
	Arrays  []Array   `json:"arrays"`          //
	Mounts  []Mount   `json:"mounts"`          // of the data
	Swaps   []Swap    `json:"swaps"`           //
	Written []Written `json:"written"`         // to the disks, from the agent's start to mongod's
	Swap    []Refusal `json:"swap,omitempty"`  // refused of swap: mongod runs without
	Fault   string    `json:"fault,omitempty"` // what went wrong last; it is tried again
}

// Refusal is what the node leaves alone. Command is for a person who knows better.
type Refusal struct {
	Sentence string   `json:"sentence"`
	Evidence []string `json:"evidence"`
	Command  string   `json:"command,omitempty"`
}

// Array is an md array.
type Array struct {
	Name     string   `json:"name"`  // md127
	Level    string   `json:"level"` // raid10
	Disks    int      `json:"disks"` // slots
	Working  int      `json:"working"`
	Members  []string `json:"members"`
	Faulty   []string `json:"faulty,omitempty"`
	Degraded bool     `json:"degraded"`
	Since    float64  `json:"since,omitempty"`   // of being degraded
	Sync     string   `json:"sync,omitempty"`    // resync, recover, check; empty when nothing is done
	Percent  float64  `json:"percent,omitempty"` // of the sync
}

// Mount is a file system of the data.
type Mount struct {
	Device  string `json:"device"`
	Target  string `json:"target"`
	Type    string `json:"type"`
	Options string `json:"options"`
}

// Swap is one place to swap to.
type Swap struct {
	Device string `json:"device"`
	Size   int64  `json:"size"` // bytes
}

// Written counts sectors of 512 bytes. AtMount is the part that the kernel itself wrote when the file systems were mounted.
type Written struct {
	Disk    string `json:"disk"`
	Sectors int64  `json:"sectors"`
	AtMount int64  `json:"at_mount"`
}

// fill makes lists of nothing out of what is not there: a reader in another language need not ask which of the two it is.
func (s *Storage) fill() {
	for _, list := range []*[]string{&s.Plan, &s.Done, &s.Waits, &s.Notes} {
		if *list == nil {
			*list = []string{}
		}
	}
	if s.Refused == nil {
		s.Refused = []Refusal{}
	}
	if s.Arrays == nil {
		s.Arrays = []Array{}
	}
	if s.Mounts == nil {
		s.Mounts = []Mount{}
	}
	if s.Swaps == nil {
		s.Swaps = []Swap{}
	}
	if s.Written == nil {
		s.Written = []Written{}
	}
}
