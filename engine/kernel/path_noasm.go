//go:build (!amd64 && !arm64) || purego

package kernel

func assembled() []Path { return nil }
