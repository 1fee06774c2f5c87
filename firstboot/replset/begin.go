package replset

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"grove/firstboot/journal"
)

// A member that joins takes the set's data and drops its own. So a folder of data that mongod had begun on before the node was to be a member is never brought into a set: what
// Grove began on an empty folder carries this mark, which mongod passes over.
const mark = "grove-set"

// Begin marks mongod's folder if it is empty. It comes before each start of a mongod that is for a set.
func Begin(data string) error {
	switch used, err := begun(data); {
	case err != nil:
		return fmt.Errorf("look whether %s holds data: %w", data, err)
	case used:
		return nil
	}
	if _, err := os.Lstat(filepath.Join(data, mark)); err == nil {
		return nil
	}
	return journal.Replace(filepath.Join(data, mark), nil, 0o644)
}

// Foreign says whether the folder holds data that were there before, or that cannot be looked at.
func Foreign(data string) bool {
	if _, err := os.Lstat(filepath.Join(data, mark)); err == nil {
		return false
	}
	used, err := begun(data)
	return used || err != nil
}

// begun looks for a storage engine's files: storage.bson since 3.0, WiredTiger's own, MMAPv1's *.ns.
func begun(data string) (bool, error) {
	entries, err := os.ReadDir(data)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	for _, e := range entries {
		if name := e.Name(); name == "storage.bson" || strings.HasPrefix(name, "WiredTiger") || strings.HasSuffix(name, ".wt") || strings.HasSuffix(name, ".ns") {
			return true, nil
		}
	}
	return false, err
}
