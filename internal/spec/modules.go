package spec

// Modules is the index of the kernel modules of an image, since Debian's packages carry no modules.dep: as JSON at /modules/index.json in the initramfs,
// and at /usr/lib/modules/index.json in the system.
type Modules struct {
	Kernel  string            `json:"kernel"` // release, as uname -r gives it
	Load    []string          `json:"load"`   // loaded on every machine, in this order; the others when a device's modalias asks for them
	Modules map[string]Module `json:"modules"`
}

// Module is one .ko file, uncompressed. Names are written with underscores.
type Module struct {
	File  string   `json:"file"`  // absolute path in the running system
	Needs []string `json:"needs"` // to be loaded before it, in this order; built-in ones are left out
	Alias []string `json:"alias"` // patterns of modalias, with * and ?
}
