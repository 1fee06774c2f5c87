// The command grove builds bootable MongoDB appliances; see `grove help`.
package main

import (
	"os"

	"grove/builder/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) }
