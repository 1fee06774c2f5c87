package status

// Firewall is who may speak to the node.
type Firewall struct {
	State    string   `json:"state"`    // loaded, failed; empty before the settings are known
	Cluster  []string `json:"cluster"`  // networks that reach mongod
	Operator []string `json:"operator"` // networks that reach SSH and the status page
	Rules    string   `json:"rules"`    // as nft lists them
}

// SSH is who may log in.
type SSH struct {
	State       string     `json:"state"` // open, closed; empty before it is known
	Port        int        `json:"port"`  // 0 when it is closed
	HostKey     string     `json:"host_key"`
	Fingerprint string     `json:"fingerprint"` // of the host key
	Kept        bool       `json:"kept"`        // the host key will be the same after a restart
	Keys        []LoginKey `json:"keys"`
	Refused     int        `json:"refused"` // log-ins since the agent's start
}

// LoginKey is one that opens.
type LoginKey struct {
	Fingerprint string `json:"fingerprint"`
	Comment     string `json:"comment"`
	From        string `json:"from"`
}

func (f *Firewall) fill() {
	for _, list := range []*[]string{&f.Cluster, &f.Operator} {
		if *list == nil {
			*list = []string{}
		}
	}
}

func (s *SSH) fill() {
	if s.Keys == nil {
		s.Keys = []LoginKey{}
	}
}
