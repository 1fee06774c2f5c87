package cli

import (
	"errors"
	"fmt"
	"io"

	"grove/internal/diag"
)

// checkAll looks at every recipe, so that the findings of all come at once.
func checkAll(out io.Writer, names []string) error {
	var all diag.Findings
	for _, name := range names {
		img, err := image(name)
		var found diag.Findings
		switch {
		case errors.As(err, &found):
			all = append(all, found...)
		case err != nil:
			return err
		default:
			fmt.Fprintf(out, "%s: nothing found: mongod %s on %s, Debian %s\n", name, img.Mongod.Version, img.Board.Name, img.Debian.Suite)
		}
	}
	return all.Err()
}
