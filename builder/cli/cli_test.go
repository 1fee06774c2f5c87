package cli

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"grove": func() { os.Exit(Main(os.Args[1:], os.Stdout, os.Stderr)) }})
}

// The verbs as a person types them, with what they print. What needs a mirror or QEMU is in accept.
func TestVerbs(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", UpdateScripts: os.Getenv("UPDATE") != ""})
}
