// Package published has those of the published results that the program itself reads.
//
// What it is not: all of them. They are files next to it, for people.
package published

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io"
	"sync"
)

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

// A Claim is what the program itself reads of the folder of a published claim.
type Claim struct {
	Verdict json.RawMessage `json:"verdict"` // verdict.json
	Picture string          `json:"picture"` // picture.svg
}

// packedClaims has claims/*/verdict.json and picture.svg in one file, a sixth of their size.
//
//go:embed claims.json.gz
var packedClaims []byte

//go:generate go test -run ^TestClaims$ -update

var unpacked struct {
	once   sync.Once
	claims map[string]Claim
}

// Claims are the published claims by name. A program that does not ask for them does not carry them, either.
func Claims() map[string]Claim {
	unpacked.once.Do(func() {
		if err := json.Unmarshal(Gunzip(packedClaims), &unpacked.claims); err != nil {
			panic("claims.json.gz: " + err.Error()) // TestClaims makes it
		}
	})
	return unpacked.claims
}

// Gzip compresses a text that the program or a page of it carries.
func Gzip(raw []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
	z.Write(raw)                                               // a buffer takes everything
	z.Close()
	return packed.Bytes()
}

// Gunzip is the text that Gzip compressed; it panics on other bytes.
func Gunzip(packed []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(z)
	}
	if err != nil {
		panic("an embedded file: " + err.Error()) // tests read each
	}
	return raw
}
