package model

import "embed"

// shipped holds the one base checkpoint that a page carries.
//
//go:embed shipped/README.md shipped/chain-base
var shipped embed.FS
