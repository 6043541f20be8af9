//go:build !js

package model

import "embed"

// shipped holds the base checkpoints that come with the binary.
//
//go:embed shipped
var shipped embed.FS
