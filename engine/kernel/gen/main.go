// Command gen writes the package's assembly: matmul tiles and elementwise
// kernels, each for AVX-512 and for AVX2 with FMA, from one description.
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
		"vector_amd64.go":          formatted(vectorStubs(true)),
		"attention_avx512_amd64.s": attentionFile(avx512),
		"attention_avx2_amd64.s":   attentionFile(avx2),
		"attention_stubs_amd64.go": attentionStubs(),
		"chains_amd64.s":           chainFile(),
		"chains_stubs_amd64.go":    chainStubs(),
		"vector_noasm.go":          formatted(vectorStubs(false)),
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
