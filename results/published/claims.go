package published

import (
	_ "embed" // the packed claims
	"encoding/json"
	"sync"
)

// A Claim is what the program itself reads of the folder of a published claim.
type Claim struct {
	Verdict json.RawMessage `json:"verdict"` // verdict.json
	Picture string          `json:"picture"` // picture.svg
}

// packedClaims has claims/*/verdict.json and picture.svg in one file: a tenth of their size, which every program carries.
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
