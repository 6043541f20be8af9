//go:build (!amd64 && !arm64) || purego

package kernel

// runVector reports that there is no assembly here.
func (p *product) runVector(Path) bool { return false }
