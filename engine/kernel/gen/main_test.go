package main

import (
	"os"
	"path/filepath"
	"testing"
)

// The committed files are what the generator writes.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("%s is out of date: run go generate in the folder above", name)
		}
	}
}
