package engine_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/kernel"
	"driftlab/precision/must"
)

var update = flag.Bool("update", false, "rewrite testdata; understand the difference before committing it")

// TestGoldenBits pins the bits of every preset, on every kernel path of this
// processor: a change of speed must not be a change of results. A line has the
// first logits of the last row and the first gradients of the head, so that a
// reader sees by how much they moved, and hashes of all of them.
func TestGoldenBits(t *testing.T) {
	const file = "testdata/bits.txt"
	best := kernel.CurrentPath()
	defer kernel.SetPath(best)
	for _, path := range kernel.Paths() {
		must.Get(kernel.SetPath(path))(t)
		text := goldenText(t)
		if *update && path == kernel.PathGo {
			must.Do(t, os.WriteFile(file, []byte(text), 0o644))
		}
		want := must.Get(os.ReadFile(file))(t)
		lines, wanted := strings.Split(text, "\n"), strings.Split(string(want), "\n")
		if len(lines) != len(wanted) {
			t.Fatalf("%d lines, %s has %d", len(lines), file, len(wanted))
		}
		for i := range lines {
			if lines[i] != wanted[i] {
				t.Errorf("%s path:\n got %s\nwant %s", path, lines[i], wanted[i])
			}
		}
	}
}

func goldenText(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# preset model: first logits of the last row, hash of all; first gradients of the head, hash of all; hash of routes\n")
	for _, n := range engine.Presets() {
		for _, name := range []string{"dense-learned-grouped", "moe"} {
			p := enginetest.Named(name).Params
			sequences := enginetest.Sequences(9, 3, p.Config.Vocab, 4, 30)
			out := run(p, n, sequences, 1, engine.Options{})
			var logits []float32
			hash := fnv.New64a()
			for s := range out.logits {
				logits = append(logits, out.logits[s]...)
				hash.Write(out.routes[s])
			}
			grad, _ := gradient(p, n, sequences, functional{drawn(9, len(logits)), 0.1}, nil, 2)
			fmt.Fprintf(&b, "%s %s: %.9g %s; %.9g %s; %016x\n", n.Name, name,
				logits[len(logits)-p.Config.Vocab:][:3], hashOf(logits), grad.Head[:3], hashOf(grad.Theta), hash.Sum64())
		}
	}
	return b.String()
}

// hashOf is a hash of bit patterns.
func hashOf(x []float32) string {
	hash := fnv.New64a()
	var word [4]byte
	for _, v := range x {
		binary.LittleEndian.PutUint32(word[:], math.Float32bits(v))
		hash.Write(word[:])
	}
	return fmt.Sprintf("%016x", hash.Sum64())
}
