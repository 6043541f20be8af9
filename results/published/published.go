// Package published has those of the published results that the program itself reads.
//
// What it is not: all of them. They are files next to it, for people.
package published

import "embed"

// Alarms is what warned before a collapse in runs of 100 updates, rule by rule, as JSON.
//
//go:embed table/alarms.json
var Alarms []byte

// Stability is the map of stability: limits, levels and speeds by stressor and correction, as JSON.
//
//go:embed stability/map.json
var Stability []byte

// RealGaps are the sizes of a mismatch that were published for training of real models, as JSON.
//
//go:embed stability/real.json
var RealGaps []byte

// StabilityPictures are the map's pictures as SVG: picture.svg of its three problems, and NAME.svg of each.
//
//go:embed stability/*.svg
var StabilityPictures embed.FS
