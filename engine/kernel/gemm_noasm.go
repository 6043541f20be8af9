//go:build (!amd64 && !arm64) || purego

package kernel

// tileCall is what assembly reads; there is none here.
type tileCall struct{}

// runVector reports that there is no assembly here.
func (p *product) runVector(Path, *Scratch) bool { return false }
