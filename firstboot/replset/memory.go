package replset

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"grove/firstboot/journal"
	"grove/firstboot/replset/join"
)

// File is what a node remembers of its set, on the state partition. A node that has been a member never founds a set, however empty its disks are.
const File = join.Forget

// memory is its content. The node's state partition may be lost with it; then the other members are asked.
type memory struct {
	Set    string `json:"set"`    // of which the node was a member
	Host   string `json:"host"`   // its name there, with the port
	Users  bool   `json:"users"`  // the first user was made, so that nobody may make one without logging in
	Member bool   `json:"member"` // false while it has only begun to found the set
}

// remembered reads it; a node that is new remembers nothing. A file that cannot be read is an error: it may say that there is a set.
func remembered(file string) (m memory, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return m, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		return m, fmt.Errorf("read what the node remembers of its replica set: %w", err)
	}
	return m, nil
}

// remember writes it, whole or not at all, and on the disk when it returns.
func remember(file string, m memory) error {
	data, err := json.Marshal(m)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = journal.Replace(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("remember the replica set: %w", err)
	}
	return nil
}

// HasUsers says whether a node's mongod has the first user already: then it starts without the localhost exception. So it does when the file cannot be read.
func HasUsers(file string) bool {
	m, err := remembered(file)
	return err != nil || m.Users
}
