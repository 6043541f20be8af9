package model

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path"
	"path/filepath"
	"testing"

	"driftlab/precision/must"
)

var pack = flag.String("pack", "", "a folder of checkpoints by their shipped names, whose weights are packed into shipped/")

// TestPackedWeights packs the weights of the shipped checkpoints again.
func TestPackedWeights(t *testing.T) {
	for _, name := range Shipped() {
		dir := path.Join("shipped", name)
		file := path.Join(dir, packedFile)
		if *pack != "" {
			data := must.Get(os.ReadFile(filepath.Join(*pack, name, weightsFile)))(t)
			must.Do(t, os.WriteFile(file, packWeights(data), 0o666))
			continue
		}
		if want := must.Get(os.ReadFile(file))(t); !bytes.Equal(packWeights(must.Get(unpackWeights(shipped, dir))(t)), want) {
			t.Errorf("%s does not come back", file)
		}
	}
}

// packWeights writes the bytes of a weights file as a packed one.
func packWeights(data []byte) []byte {
	var packed bytes.Buffer
	z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid, and a buffer takes everything
	for first := range 4 {
		for i := first; i < len(data); i += 4 {
			z.Write(data[i : i+1])
		}
	}
	z.Close()
	return packed.Bytes()
}
