package status

// Logs is mongod's log and how many old ones there are.
type Logs struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
	Old  int    `json:"old"`
}
