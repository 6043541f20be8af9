// Package studies holds the experiments that are published as data: the claims of papers.
package studies

import "embed"

// Claims are claims/order.yaml, the themes and claims in their order, and a file
// claims/THEME/ID.yaml for each claim.
//
//go:embed claims
var Claims embed.FS
