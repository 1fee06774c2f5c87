package verb

import (
	"context"
	"fmt"
	"os"

	"grove/firstboot/lend"
	"grove/internal/host"
)

// Network sets the MTU of an interface for a while, or puts it back. It gives the exit code.
func Network(args []string) int {
	wish, err := lend.Read(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	line, err := lend.Leave(context.Background(), "", host.Real{}.Uptime().Seconds(), wish)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(line)
	return 0
}
