package spec

// Node is what the image tells the agent, as JSON in the initramfs at /etc/grove/image.json. The names are the contract between the two wings.
type Node struct {
	Image   string     `json:"image"`   // the recipe's name
	DiskID  string     `json:"disk_id"` // GPT disk GUID of the medium, or signature of its MBR
	Time    int64      `json:"time"`    // seconds since 1970; no clock is earlier than this
	Console string     `json:"console"` // none or shell
	Mongod  NodeMongod `json:"mongod"`
	Board   string     `json:"board"`
	Cluster string     `json:"cluster"` // with the node's name, the identity of its disks
	Storage *Storage   `json:"storage,omitempty"`
	Swap    []Swap     `json:"swap,omitempty"`
	Settings
}

// NodeMongod is the server as the agent runs it.
type NodeMongod struct {
	Version string         `json:"version"`
	Config  map[string]any `json:"config"` // the recipe's, merged over the agent's own
}

// Personal is node.yaml: what makes one node of many. It lies on the boot partition as grove/node.yaml, or comes by QEMU's fw_cfg as opt/org.grove/node.yaml, or
// on the kernel's command line as grove.hostname=NAME; the first found wins.
type Personal struct {
	Hostname string  `yaml:"hostname"`
	Secrets  Secrets `yaml:"secrets,omitempty"`
	Settings `yaml:",inline"`
}

// NodeFile is the place of node.yaml in the boot partition, and NodeBlob its name in fw_cfg.
const (
	NodeFile = "grove/node.yaml"
	NodeBlob = "opt/org.grove/node.yaml"
)
