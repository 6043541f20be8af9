package results

import (
	"embed"
	"path"
)

// published are the verdicts that the program was released with.
//
//go:embed published/claims/*/verdict.json
var published embed.FS

// PublishedVerdict returns the verdict file of a claim as results/published has
// it; ok is false for a claim that was not published.
func PublishedVerdict(claim string) (text []byte, ok bool) {
	text, err := published.ReadFile(path.Join("published/claims", claim, "verdict.json"))
	return text, err == nil
}
