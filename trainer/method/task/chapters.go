package task

import (
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
)

// Chapters is prose in numbered chapters: the prompt says how many, and the
// response counts down those that are left. It is the task whose vocabulary and
// length are parameters: words by the thousand, answers of two thousand tokens.
//
// A chapter is a fixed number of words. Behind it stand a colon and how many are
// left; after the last one the mark and, for an answer, how many there were.
//
// Words are noisy. They come in four classes (a word's number modulo four), which
// follow each other in turn, from the second: c = c₁ + 1 (mod 4), c₁ = 0 before a
// chapter's first. A word is the first of its class, or with chance tail any of
// them, by Zipf's law: rank r has a share in proportion to ∫ x^−zipf dx from r to
// r+1, whatever came before. So the distribution that a model has to learn has rank four,
// however many words there are, and noise, tail and zipf set its entropy.
//
// It is learnable for the reasons given at Chain: the number before lies a fixed
// number of tokens earlier, and so does the end of the chapter before. The answer
// has to be fetched from the prompt. Without slips every chapter so far says where
// in its own a word stands, and a model that asks them all is lost in a long answer
// after the first slip of its own.
type Chapters struct {
	// Difficulty is the range of the number of chapters.
	Difficulty Range `yaml:"difficulty,flow" default:"2 6" range:"[1,999]"`
	// Words is the number of words of a chapter, 2 or more.
	Words int `yaml:"words" default:"6" range:"[2,4096]"`
	// Vocabulary is the number of tokens: 20 of them are no words.
	Vocabulary int `yaml:"vocabulary" default:"128" range:"[32,2^15]"`
	// Tail is the chance that a word is not just the first of its class.
	Tail float64 `yaml:"tail" default:"0.2" range:"[0,1]"`
	// Zipf is the exponent s of the frequencies within a class, rank^-s; 0 is uniform.
	Zipf float64 `yaml:"zipf" default:"1" range:"[0,10]"`
	// Noise is the chance that a word's class is a random one.
	Noise float64 `yaml:"noise" default:"0.1" range:"[0,1]"`
	// Slip is the chance that a chapter has a word more or fewer, against the form.
	Slip float64 `yaml:"slip" range:"[0,1]"`
}

// What chapters are made of.
const (
	wordClasses    = 4
	openingWords   = 4 // of a prompt
	counterDigits  = 3
	mostVocabulary = 1 << 15
)

// NewChapters returns the default: 2 to 6 chapters of six words, of which there
// are 108 with an entropy of 1.25 nats.
func NewChapters() *Chapters { return method.New[Chapters]() }

// Vocab implements Task.
func (c *Chapters) Vocab() []string { return wordVocab()[:c.Vocabulary:c.Vocabulary] }

// Reproduce implements Task.
func (c *Chapters) Reproduce(id int64) Prompt {
	return reproduce(id, "chapters", c.Difficulty, func(rng *rand.Rand, n int) (tokens, answer []int32) {
		tokens = append(make([]int32, 0, c.MaxPrompt()), BOS)
		for range openingWords {
			tokens = append(tokens, marker0+rng.Int32N(int32(c.Vocabulary)-marker0))
		}
		return appendCount(append(tokens, colon), n), appendCount(nil, n)
	})
}

func appendCount(dst []int32, n int) []int32 { return appendDigits(dst, n, counterDigits) }

func (c *Chapters) isWord(id int32) bool { return id >= marker0 && int(id) < c.Vocabulary }

// chapters reads how many a prompt asks for.
func (c *Chapters) chapters(prompt []int32) (n int, ok bool) {
	if len(prompt) != c.MaxPrompt() || prompt[0] != BOS || prompt[1+openingWords] != colon {
		return 0, false
	}
	for _, id := range prompt[1 : 1+openingWords] {
		if !c.isWord(id) {
			return 0, false
		}
	}
	n, ok = numberOf(prompt[2+openingWords:])
	return n, ok && n > 0
}

// Verify implements Task. A response is correct as in Chain, and has the form if
// its working has as many chapters as the prompt asks for, and counts them down.
// Each but the last is a step, which ends with how many are left.
func (c *Chapters) Verify(p Prompt, response []int32) (v Verdict) {
	n, ok := c.chapters(p.Tokens)
	if !ok {
		return v
	}
	whole := c.readChapters(&v, working(response), n)
	return v.answered(p, response, whole, isDigits)
}

// readChapters adds a verdict per number of those left, and reports whether work
// is that many chapters with a number after each but the last.
func (c *Chapters) readChapters(v *Verdict, work []int32, chapters int) (whole bool) {
	written := chapters
	for at, left := 0, chapters-1; ; left-- {
		for range c.Words {
			if at == len(work) || !c.isWord(work[at]) {
				return false
			}
			at++
		}
		if at == len(work) {
			return left == 0
		}
		if len(work)-at < 1+counterDigits || work[at] != colon {
			return false
		}
		n, ok := numberOf(work[at+1 : at+1+counterDigits])
		if !ok {
			return false
		}
		at += 1 + counterDigits
		v.add(Step{End: uint16(at - 1), Valid: n == written-1, Exact: n == left})
		written = n
	}
}

// Demonstration implements Task.
func (c *Chapters) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	n, ok := c.chapters(p.Tokens)
	if !ok {
		panic("task: not a chapters prompt: " + Text(c.Vocab(), p.Tokens))
	}
	for left := n - 1; left >= 0; left-- {
		last := 0
		for range c.length(rng) {
			class := (last + 1) % wordClasses
			if rng.Float64() < c.Noise {
				class = rng.IntN(wordClasses)
			}
			rank := 0
			if rng.Float64() < c.Tail {
				n := c.ranks(class) // rounding may reach the next one
				rank = min(int(c.rankAt(rng.Float64()*c.mass(float64(n)))), n-1)
			}
			dst = append(dst, marker0+int32(wordClasses*rank+class))
			last = class
		}
		if left > 0 {
			dst = appendCount(append(dst, colon), left)
		}
	}
	return append(appendCount(append(dst, answerMark), n), EOS)
}

// length draws the number of words of a demonstration's chapter.
func (c *Chapters) length(rng *rand.Rand) int {
	if c.Slip == 0 || rng.Float64() >= c.Slip {
		return c.Words
	}
	return c.Words - 1 + 2*rng.IntN(2)
}

func (c *Chapters) ranks(class int) int {
	return (c.Vocabulary - int(marker0) - class + wordClasses - 1) / wordClasses
}

// mass is ∫ (1+x)^−zipf dx from 0 to x: that of the first x ranks.
func (c *Chapters) mass(x float64) float64 {
	if c.Zipf == 1 {
		return elementary.Log(1 + x)
	}
	return (elementary.Pow(1+x, 1-c.Zipf) - 1) / (1 - c.Zipf)
}

func (c *Chapters) rankAt(mass float64) float64 {
	if c.Zipf == 1 {
		return elementary.Exp(mass) - 1
	}
	return elementary.Pow(1+float64(mass*(1-c.Zipf)), 1/(1-c.Zipf)) - 1
}

// Entropy is the entropy of a word in nats, the mean over classes, for one who knows the
// words before: what no model can do without.
func (c *Chapters) Entropy() float64 {
	other := float64(c.Noise / wordClasses)
	sum := plogp(1-c.Noise+other) + float64((wordClasses-1)*plogp(other))
	for class := range wordClasses {
		n := c.ranks(class)
		for r := range n {
			share := c.Tail * (c.mass(float64(r+1)) - c.mass(float64(r))) / c.mass(float64(n))
			if r == 0 {
				share += 1 - c.Tail
			}
			sum += float64(plogp(share) / wordClasses)
		}
	}
	return -sum
}

// plogp is p·ln p, 0 at 0.
func plogp(p float64) float64 {
	if p == 0 {
		return 0
	}
	return float64(p * elementary.Log(p))
}

// MaxPrompt implements Task.
func (c *Chapters) MaxPrompt() int { return 1 + openingWords + 1 + counterDigits }

// MaxResponse implements Task.
func (c *Chapters) MaxResponse() int {
	words := c.Words
	if c.Slip > 0 {
		words++
	}
	return c.Difficulty[1]*(words+1+counterDigits) + 1
}
