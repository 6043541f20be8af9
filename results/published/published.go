// Package published has those of the published results that the program itself reads.
//
// What it is not: all of them. They are files next to it, for people.
package published

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"io"
	"sync"
)

// Paths of published files that the program carries, below this folder.
const (
	Alarms    = "table/alarms.json"   // what warned before a collapse in runs of 100 updates, rule by rule
	Stability = "stability/map.json"  // the map of stability: limits, levels and speeds by stressor and correction
	RealGaps  = "stability/real.json" // sizes of a mismatch that were published for training of real models
)

// StabilityPicture is the path of a picture of the map: "picture" is the picture of its three problems, each has its own name.
func StabilityPicture(name string) string { return "stability/" + name + ".svg" }

// packedFiles has the files by path.
//
//go:embed files.json.gz
var packedFiles []byte

// packedClaims has what a Claim has of claims/*.
//
//go:embed claims.json.gz
var packedClaims []byte

//go:generate go test -run ^TestPacked -update

// File is the text of a file that the program carries; it panics on another path.
func File(path string) []byte {
	text, ok := files.read("files.json.gz", packedFiles)[path]
	if !ok {
		panic("published: the program does not carry " + path)
	}
	return []byte(text)
}

// A Claim is what the program itself reads of the folder of a published claim.
type Claim struct {
	Verdict json.RawMessage `json:"verdict"` // verdict.json without the effect of each seed
	Picture string          `json:"picture"` // picture.svg
}

// Claims are the published claims by name.
func Claims() map[string]Claim { return claims.read("claims.json.gz", packedClaims) }

// unpacked is an embedded file of JSON as it was first read. A program that never asks for it does not carry the file, either.
type unpacked[T any] struct {
	once sync.Once
	of   T
}

var (
	files  unpacked[map[string]string]
	claims unpacked[map[string]Claim]
)

func (u *unpacked[T]) read(name string, packed []byte) T {
	u.once.Do(func() {
		if err := json.Unmarshal(Gunzip(packed), &u.of); err != nil {
			panic(name + ": " + err.Error()) // the tests of this package make it
		}
	})
	return u.of
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
