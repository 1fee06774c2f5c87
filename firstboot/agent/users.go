package agent

import (
	"errors"
	"os"
	"path/filepath"

	"grove/firstboot/status"
)

// writeUsers makes the two users that there are known by name.
func writeUsers(root string) error {
	passwd := "root:x:0:0:root:/root:/bbin/gosh\nmongod:x:990:990:mongod:/:/bbin/false\n"
	group := "root:x:0:\nmongod:x:990:\n"
	if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
		return err
	}
	return errors.Join(status.Replace(root+"/etc/passwd", []byte(passwd)), status.Replace(root+"/etc/group", []byte(group)))
}
