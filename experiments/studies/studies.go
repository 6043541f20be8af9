// Package studies holds the experiments that are published as data: the main job and the claims of papers.
package studies

import "embed"

// Claims are claims/order.yaml, the themes and claims in their order, and a file
// claims/THEME/ID.yaml for each claim.
//
//go:embed claims
var Claims embed.FS

// Headline is the plan of the main job.
//
//go:embed headline.yaml
var Headline []byte
