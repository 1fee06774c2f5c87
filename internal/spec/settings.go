package spec

// Settings is what a node does beside its disks and mongod's version. It may stand in the recipe, for every node of the image, and in node.yaml, for one: what
// node.yaml names takes the recipe's place, field by field (Over).
type Settings struct {
	Network  Network  `yaml:"network" json:"network"`
	Firewall Firewall `yaml:"firewall" json:"firewall"`
	Tuning   Tuning   `yaml:"tuning" json:"tuning"`
	SSH      SSH      `yaml:"ssh" json:"ssh"`
	Status   Page     `yaml:"status" json:"status"`
	Metrics  Metrics  `yaml:"metrics" json:"metrics"`
	Logs     Logs     `yaml:"logs" json:"logs"`

	ReplicaSet ReplicaSet `yaml:"replica_set,omitempty" json:"replica_set"`
}

// Network is the node's addresses, names and time.
type Network struct {
	Interfaces []Interface       `yaml:"interfaces,omitempty" json:"interfaces,omitempty"` // those that are not named ask by DHCP
	MTU        int               `yaml:"mtu,omitempty" json:"mtu,omitempty"`               // of each interface without one of its own; 0: what DHCP says
	DNS        []string          `yaml:"dns,omitempty" json:"dns,omitempty"`               // addresses, before those of DHCP
	Search     []string          `yaml:"search,omitempty" json:"search,omitempty"`         // domains
	Hosts      map[string]string `yaml:"hosts,omitempty" json:"hosts,omitempty"`           // name to address, for /etc/hosts
	NTP        []string          `yaml:"ntp,omitempty" json:"ntp,omitempty"`               // names or addresses, before those of DHCP (option 42)
}

// Interface is one Ethernet interface, found by its kernel name or its MAC address.
type Interface struct {
	Name    string `yaml:"name,omitempty" json:"name,omitempty"`       // eth0
	MAC     string `yaml:"mac,omitempty" json:"mac,omitempty"`         // 52:54:00:12:34:56
	Address string `yaml:"address,omitempty" json:"address,omitempty"` // 192.168.1.11/24; empty: by DHCP
	Gateway string `yaml:"gateway,omitempty" json:"gateway,omitempty"` // of a static address
	MTU     int    `yaml:"mtu,omitempty" json:"mtu,omitempty"`
}

// String is the interface in a person's words.
func (i Interface) String() string {
	if i.Name != "" {
		return i.Name
	}
	return i.MAC
}

// Firewall names the networks, as 192.168.1.0/24, whose machines may speak to a port; without any these are the networks that the node's own addresses lie in.
// All else that comes in is dropped.
type Firewall struct {
	Cluster  []string `yaml:"cluster,omitempty" json:"cluster,omitempty"`   // mongod
	Operator []string `yaml:"operator,omitempty" json:"operator,omitempty"` // SSH and the status page
}

// Tuning is one of TuningProfiles, and kernel settings of one's own beside it.
type Tuning struct {
	Profile string            `yaml:"profile,omitempty" json:"profile,omitempty"`
	Sysctl  map[string]string `yaml:"sysctl,omitempty" json:"sysctl,omitempty"` // vm.swappiness: "1"
}

// TuningProfiles: MongoDB's own advice for the server's version, the numbers of the articles of 2013 and 2015, nothing.
var TuningProfiles = []string{"mongodb", "classic-2015", "none"}

// SSH is open when there is a key.
type SSH struct {
	Keys []string `yaml:"keys,omitempty" json:"keys,omitempty"` // as in authorized_keys, without options
}

// Page is the status page. Port 0 is the default's; off is for a node without.
type Page struct {
	Port   int  `yaml:"port,omitempty" json:"port,omitempty"`
	Off    bool `yaml:"off,omitempty" json:"off,omitempty"`
	Browse bool `yaml:"browse,omitempty" json:"browse,omitempty"` // the data too, for mongod's own users, on the loopback address only
}

// Metrics are sent by Prometheus remote write; without push they are only there to be fetched.
type Metrics struct {
	Push  string `yaml:"push,omitempty" json:"push,omitempty"`
	Proxy string `yaml:"proxy,omitempty" json:"proxy,omitempty"`
}

// Logs is how mongod's log is rotated.
type Logs struct {
	Rotate string `yaml:"rotate,omitempty" json:"rotate,omitempty"` // one of LogRotations
	Size   Size   `yaml:"size,omitempty" json:"size,omitempty"`     // rotated as well when it is longer
	Keep   int    `yaml:"keep,omitempty" json:"keep,omitempty"`     // old ones, compressed but for the newest
	Plain  bool   `yaml:"plain,omitempty" json:"plain,omitempty"`   // not compressed
}

// LogRotations are how often at the least.
var LogRotations = []string{"daily", "hourly", "none"}

// Over gives these settings, with the fields that they leave empty taken from those under them.
func (s Settings) Over(under Settings) Settings {
	n, u := &s.Network, under.Network
	n.Interfaces, n.DNS, n.Search, n.NTP = orList(n.Interfaces, u.Interfaces), orList(n.DNS, u.DNS), orList(n.Search, u.Search), orList(n.NTP, u.NTP)
	n.MTU, n.Hosts = orValue(n.MTU, u.MTU), joined(n.Hosts, u.Hosts)
	s.Firewall = Firewall{Cluster: orList(s.Firewall.Cluster, under.Firewall.Cluster), Operator: orList(s.Firewall.Operator, under.Firewall.Operator)}
	s.Tuning = Tuning{Profile: orValue(s.Tuning.Profile, under.Tuning.Profile), Sysctl: joined(s.Tuning.Sysctl, under.Tuning.Sysctl)}
	s.SSH.Keys = orList(s.SSH.Keys, under.SSH.Keys)
	s.Status = Page{Port: orValue(s.Status.Port, under.Status.Port), Off: s.Status.Off || under.Status.Off, Browse: s.Status.Browse || under.Status.Browse}
	s.Metrics = Metrics{Push: orValue(s.Metrics.Push, under.Metrics.Push), Proxy: orValue(s.Metrics.Proxy, under.Metrics.Proxy)}
	l, ul := s.Logs, under.Logs
	r, ur := s.ReplicaSet, under.ReplicaSet
	s.ReplicaSet = ReplicaSet{Name: orValue(r.Name, ur.Name), Members: orList(r.Members, ur.Members), Bootstrap: orValue(r.Bootstrap, ur.Bootstrap)}
	s.Logs = Logs{Rotate: orValue(l.Rotate, ul.Rotate), Size: orValue(l.Size, ul.Size), Keep: orValue(l.Keep, ul.Keep), Plain: l.Plain || ul.Plain}
	return s
}

func orList[T any](list, under []T) []T {
	if len(list) > 0 {
		return list
	}
	return under
}

func orValue[T comparable](value, under T) T {
	var zero T
	if value != zero {
		return value
	}
	return under
}

// joined has the keys of both; those of over count.
func joined(over, under map[string]string) map[string]string {
	if len(over)+len(under) == 0 {
		return nil
	}
	all := map[string]string{}
	for _, m := range []map[string]string{under, over} {
		for key, value := range m {
			all[key] = value
		}
	}
	return all
}
