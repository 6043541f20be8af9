//go:build !amd64 || purego

package kernel

func assembled() []Path { return nil }
