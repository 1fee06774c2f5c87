// Package grove carries the boards and recipes that come with the command.
package grove

import "embed"

// Files holds boards/*.yaml and recipes/*.yaml.
//
//go:embed boards/*.yaml recipes/*.yaml
var Files embed.FS
