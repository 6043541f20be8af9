package model

import (
	"bytes"
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
