package task

import (
	"fmt"
	"math/rand/v2"
)

// Range is the inclusive range of the difficulty knob: [low, high].
type Range [2]int

// draw returns an integer of the range, all equally likely.
func (r Range) draw(rng *rand.Rand) int { return r[0] + rng.IntN(r[1]-r[0]+1) }

// The streams of prompts. The value is the lowest bit of Prompt.ID.
const (
	training   = 0
	evaluation = 1
)

// newID draws the number of a prompt of the stream. It stays below 2^53.
func newID(rng *rand.Rand, stream int64) int64 {
	return int64(rng.Uint64()>>12)<<1 | stream
}

// maxDraws bounds the search for a prompt of the wanted stream: each draw hits
// it with probability one half.
const maxDraws = 1000

// reproduce makes the prompt with the given ID. The difficulty comes first and
// is never rejected, so it stays uniform; the text is drawn again until its
// hash falls into the stream of the ID. draw writes the text of a prompt of
// the given difficulty and its answer.
func reproduce(id int64, name string, r Range, draw func(rng *rand.Rand, difficulty int) (tokens, answer []int32)) Prompt {
	rng := rand.New(rand.NewPCG(uint64(id), hashString(name)))
	p := Prompt{ID: id, Difficulty: r.draw(rng)}
	for range maxDraws {
		p.Tokens, p.Answer = draw(rng, p.Difficulty)
		if streamOf(p.Tokens) == id&1 {
			return p
		}
	}
	panic(fmt.Sprintf("task: %s has no prompt of difficulty %d in the stream of id %d", name, p.Difficulty, id))
}

// streamOf assigns a text to one of the two streams for good.
func streamOf(tokens []int32) int64 {
	h := fnvOffset
	for _, id := range tokens {
		h = (h ^ uint64(uint32(id))) * fnvPrime
	}
	return int64(mix(h) & 1)
}

// mix is the finaliser of SplitMix64. Single bits of FNV are regular functions
// of short inputs (one was constant over all one-digit additions); these are not.
func mix(h uint64) uint64 {
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

// The constants of the 64-bit FNV-1a hash.
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// hashString is FNV-1a. It keeps the random streams of the tasks apart.
func hashString(s string) uint64 {
	h := fnvOffset
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * fnvPrime
	}
	return h
}
