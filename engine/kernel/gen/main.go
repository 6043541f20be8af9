// Command gen writes the package's assembly: matmul tiles, elementwise kernels,
// attention's loops and in-order sums, for AVX-512, for AVX2 with FMA and for
// arm64's NEON, from one description; and arm64's loops of package precision and amd64's of
// package elementary.
//
//	go generate ./engine/kernel
//
// It needs nothing but the standard library. The output is committed, so that
// building needs no generator; a test in this directory fails when the two
// differ.
package main

import (
	"go/format"
	"log"
	"os"
	"path/filepath"
)

func main() {
	log.SetFlags(0)
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// files returns the text of every generated file by name.
func files() map[string]string {
	return map[string]string{
		"tiles_avx512_amd64.s":     tileFile(avx512),
		"tiles_avx2_amd64.s":       tileFile(avx2),
		"tiles_amd64.go":           formatted(tileStubs()),
		"tiles_arm64.s":            neonTileFile(),
		"tiles_arm64.go":           formatted(neonTileStubs()),
		"vector_avx512_amd64.s":    vectorFile(avx512),
		"vector_avx2_amd64.s":      vectorFile(avx2),
		"vector_stubs_amd64.go":    formatted(vectorStubs(avx512, avx2)),
		"vector_amd64.go":          formatted(vectorChoosers(avx512, avx2)),
		"vector_arm64.s":           vectorFile(neon),
		"vector_stubs_arm64.go":    formatted(vectorStubs(neon)),
		"vector_arm64.go":          formatted(vectorChoosers(neon)),
		"vector_noasm.go":          formatted(noVectorStubs()),
		"attention_avx512_amd64.s": attentionFile(avx512),
		"attention_avx2_amd64.s":   attentionFile(avx2),
		"attention_stubs_amd64.go": attentionStubs(avx512, avx2),
		"attention_arm64.s":        attentionFile(neon),
		"attention_stubs_arm64.go": attentionStubs(neon),
		"chains_amd64.s":           chainFile(avx2),
		"chains_arm64.s":           chainFile(neon),
		"chains_stubs.go":          chainStubs(),
		"chains_stubs_amd64.go":    squareStubs(),

		"../../precision/round_arm64.s":    roundFile(),
		"../../precision/quantize_arm64.s": quantizeFile(),

		"../../precision/elementary/exps_amd64.s":        expFile(),
		"../../precision/elementary/exps_stubs_amd64.go": expStubs(),
	}
}

// formatted is Go source as gofmt writes it.
func formatted(source string) string {
	b, err := format.Source([]byte(source))
	if err != nil {
		log.Fatalf("%v\n%s", err, source)
	}
	return string(b)
}
