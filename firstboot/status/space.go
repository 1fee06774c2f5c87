package status

// Room is a file system of the node's and how full it is.
type Room struct {
	Mount string `json:"mount"`
	Size  int64  `json:"size"` // bytes
	Free  int64  `json:"free"`
	State string `json:"state,omitempty"` // nearly full, full
}
