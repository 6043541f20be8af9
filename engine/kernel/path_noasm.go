//go:build !amd64

package kernel

func bestPath() Path { return PathGo }
