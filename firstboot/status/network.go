package status

// Network is the node's interfaces and where it asks for names.
type Network struct {
	Links  []Link   `json:"links"`
	DNS    []string `json:"dns"`
	Search []string `json:"search"`
	Lent   *Lent    `json:"lent,omitempty"` // an MTU for a while
}

// Link is an Ethernet interface.
type Link struct {
	Name    string `json:"name"`
	MAC     string `json:"mac"`
	Up      bool   `json:"up"` // has a carrier
	Address string `json:"address"`
	Gateway string `json:"gateway"`
	By      string `json:"by"`  // DHCP, settings; empty without an address
	MTU     int    `json:"mtu"` // as the kernel has it
}

// Lent is an MTU that a person asked for, until an uptime in seconds; then the link has again what it had.
type Lent struct {
	Link  string  `json:"link"`
	MTU   int     `json:"mtu"`
	Was   int     `json:"was"`
	Until float64 `json:"until"`
}

// Clock is what the node knows of the time. What waits for a right clock waits for Synced.
type Clock struct {
	Synced  bool     `json:"synced"`  // set by a time server, and not long ago
	Guessed bool     `json:"guessed"` // it began at the image's time, or at one kept of the last boot, and is not set since: the date is not known
	Offset  float64  `json:"offset"`  // seconds that the clock was off when it was looked at last, positive if it was slow
	Server  string   `json:"server"`  // whose answer was taken
	Stratum int      `json:"stratum"`
	Agree   int      `json:"agree"` // servers that say the same
	Last    float64  `json:"last"`  // uptime of the last answer, 0 before the first
	Servers []string `json:"servers"`
	Poor    []string `json:"poor"` // servers that are not taken, and why
}

// fill see Storage.
func (n *Network) fill() {
	if n.Links == nil {
		n.Links = []Link{}
	}
	for _, list := range []*[]string{&n.DNS, &n.Search} {
		if *list == nil {
			*list = []string{}
		}
	}
}

func (c *Clock) fill() {
	for _, list := range []*[]string{&c.Servers, &c.Poor} {
		if *list == nil {
			*list = []string{}
		}
	}
}
