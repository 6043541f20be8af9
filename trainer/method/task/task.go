package task

import (
	"embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
)

// Task is a family of verifiable prompts. Implementations are pointers to
// parameter structs whose yaml tags are the fields of a recipe; they hold no
// other state, so one value may be used from several goroutines.
type Task interface {
	// Vocab returns the token strings; ids are indices. The slice is shared: do not write to it.
	Vocab() []string
	// Reproduce makes the prompt with this ID again, under the same parameters.
	Reproduce(id int64) Prompt
	// Verify checks a response, from the first token after the prompt up to and
	// including EOS. It accepts any tokens, allocates nothing and never panics.
	Verify(p Prompt, response []int32) Verdict
	// Demonstration appends a noisy worked response, ending in EOS, to dst.
	Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32
	// MaxPrompt is the length of the longest prompt, in tokens.
	MaxPrompt() int
	// MaxResponse is the length of the longest demonstration, in tokens, EOS included.
	MaxResponse() int
}

// Draw draws a prompt of the training stream, difficulty uniform over its range.
func Draw(t Task, rng *rand.Rand) Prompt { return t.Reproduce(newID(rng, training)) }

// DrawHeldOut draws a prompt of the evaluation stream, which shares no text with
// training.
func DrawHeldOut(t Task, rng *rand.Rand) Prompt { return t.Reproduce(newID(rng, evaluation)) }

// Prompt is one question. It is shared by the responses of a group: do not
// write to its slices.
type Prompt struct {
	// ID reproduces the prompt: even in training, odd in evaluation, below 2^53
	// so that JSON readers keep every digit.
	ID int64
	// Tokens are the prompt's tokens, the first is BOS.
	Tokens []int32
	// Difficulty is how hard the prompt is, within the task's range.
	Difficulty int
	// Answer holds the tokens that belong between the mark "#" and EOS; where
	// several answers are right, the first of them.
	Answer []int32
}

// Verdict is what the verifier says about a response. It is a plain value:
// comparable, and copied without allocation.
type Verdict struct {
	// Correct is true if the response ends with one mark, a right answer and
	// EOS. The working before the mark is free.
	Correct bool
	// Format is true if working and answer also have the form of a
	// demonstration, whatever values they hold.
	Format bool

	steps [MaxSteps]Step
	count int
}

// MaxSteps is the number of working steps a Verdict keeps; later ones are
// dropped.
const MaxSteps = 64

// Step is the verdict on one step of the working.
type Step struct {
	// End is the index, within the response, of the step's last token.
	End uint16
	// Valid is true if the step follows from what was written before it.
	Valid bool
	// Exact is true if the step equals that of the faultless working.
	Exact bool
}

// Steps returns the steps of the working that could be read, in order, up to
// the first token that breaks the form.
func (v *Verdict) Steps() []Step { return v.steps[:v.count] }

// add keeps a step unless there are MaxSteps already.
func (v *Verdict) add(s Step) {
	if v.count < MaxSteps {
		v.steps[v.count] = s
		v.count++
	}
}

// texts are methods.txt: what each method does, when to use it, and its source; and examples.txt: worked examples, which a
// test recomputes (go test -run WorkedExamples -update writes them).
//
//go:embed examples.txt methods.txt
var texts embed.FS

// Table lists the tasks a recipe can name. New gives the parameters with
// their defaults; method.Check says what is wrong with others.
var Table = method.Table[Task]{
	{Spec: method.Spec{Name: "chain"}, New: func() Task { return NewChain() }},
	{Spec: method.Spec{Name: "addition"}, New: func() Task { return NewAddition() }},
	{Spec: method.Spec{Name: "search"}, New: func() Task { return NewSearch() }},
	{Spec: method.Spec{Name: "filler"}, New: func() Task { return NewFiller() }},
	{Spec: method.Spec{Name: "lookup"}, New: func() Task { return NewLookup() }},
	{Spec: method.Spec{Name: "chapters"}, New: func() Task { return NewChapters() }},
	{Spec: method.Spec{Name: "tagged"}, New: func() Task { return NewTagged() }},
}.Filled(method.Spec{Group: "task", Gradient: "none: a task makes prompts and verdicts"}, texts)

// Range is the inclusive range of the difficulty: [low, high].
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
	rng := rand.New(rand.NewPCG(uint64(id), hashTokens([]rune(name))))
	p := Prompt{ID: id, Difficulty: r.draw(rng)}
	for range maxDraws {
		p.Tokens, p.Answer = draw(rng, p.Difficulty)
		if int64(mix(hashTokens(p.Tokens))&1) == id&1 { // a text is in one of the two streams for good
			return p
		}
	}
	panic(fmt.Sprintf("task: %s has no prompt of difficulty %d in the stream of id %d", name, p.Difficulty, id))
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

// hashTokens is FNV-1a of ids: what a prompt is known by, and of a task's name what separates its random stream.
func hashTokens(tokens []int32) uint64 {
	h := fnvOffset
	for _, id := range tokens {
		h = (h ^ uint64(uint32(id))) * fnvPrime
	}
	return h
}

// Tool is a Task whose responses may call an environment. What it replies
// stands in the response like any token, but the policy did not write it.
type Tool interface {
	Task
	// Reply appends to dst what the environment writes after the newest token
	// of the response, and nothing where that token is no call. It is a function
	// of its arguments, and allocates nothing beyond dst.
	Reply(dst, prompt, response []int32) []int32
}

// Generated appends to dst, for every token of a response, whether the policy
// wrote it: true everywhere but in the replies of a Tool.
func Generated(dst []bool, t Task, prompt, response []int32) []bool {
	tool, ok := t.(Tool)
	var reply []int32
	for n := 0; n < len(response); n++ {
		dst = append(dst, true)
		if !ok {
			continue
		}
		reply = tool.Reply(reply[:0], prompt, response[:n+1])
		for range min(len(reply), len(response)-n-1) {
			dst = append(dst, false)
			n++
		}
	}
	return dst
}

// Tagged is the chain task in another template: the working stands between two tags,
// as between <think> and </think>. It has the prompts, the answers
// and the tokens of Chain; a response without tags is as right.
//
// A model that was trained on one template reads the other as off its distribution:
// a shared vocabulary is not a shared form.
type Tagged struct {
	Chain `yaml:",inline"`
}

// NewTagged returns the default chain task in this template.
func NewTagged() *Tagged { return &Tagged{*NewChain()} }

// Verify implements Task.
func (k *Tagged) Verify(p Prompt, response []int32) (v Verdict) {
	if len(response) == 0 || response[0] != equals {
		v = k.Chain.Verify(p, response)
		v.Format = false
		return v
	}
	g, start, ok := parsePrompt(p.Tokens, colon, 1)
	if !ok {
		return v
	}
	work := working(response[1:])
	read, complete := g.readRun(&v, work, start, 1)
	closed := len(work) == read+1 && work[read] == equals
	return v.answered(p, response, (complete || k.Direct > 0 && read == 0) && closed, isDigits)
}

// Demonstration implements Task.
func (k *Tagged) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	from := len(dst)
	return closeTag(k.Chain.Demonstration(append(dst, equals), p, rng), from)
}

// Template implements Templater.
func (k *Tagged) Template(dst, response []int32) []int32 {
	if len(response) > 0 && response[0] == equals {
		return append(dst, response...)
	}
	return closeTag(append(append(dst, equals), response...), len(dst))
}

// closeTag puts the second tag before the mark of the response that begins at from.
func closeTag(dst []int32, from int) []int32 {
	return slices.Insert(dst, from+len(working(dst[from:])), equals)
}

// MaxResponse implements Task.
func (k *Tagged) MaxResponse() int { return k.Chain.MaxResponse() + 2 }

// Templater is a task whose responses have a form that others can be put into.
type Templater interface {
	// Template appends a response in the task's form to dst.
	Template(dst, response []int32) []int32
}

// Filler is the chain task with idle talk: between working and answer a
// demonstration writes fillers, tokens that have no bearing on the reward.
//
// The vocabulary has 64 tokens, 32 of them fillers, and the entropy stays high
// however well the arithmetic is known. That is where an inexact rollout
// engine does harm: most of what is reinforced or pushed down is noise.
//
// The working is learnable for the reasons given at Chain. The answer is the
// last digit written, which its recency and its marker tell from the digits of
// the prompt.
type Filler struct {
	// Difficulty is the range of the number of operations.
	Difficulty Range `yaml:"difficulty,flow" default:"3 6" range:"[1,12]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.15" range:"[0,1]"`
	// Continue is the chance that a demonstration writes one more filler.
	Continue float64 `yaml:"continue" default:"0.9" range:"[0,1]"`
	// MaxFillers is the most fillers that a demonstration writes.
	MaxFillers int `yaml:"max_fillers" default:"40" range:"[0,4096]"`
	// Zipf is the exponent s of the fillers' frequencies, rank^-s; 0 is uniform.
	// With s = 0.4 and Continue = 0.9 no filler is likelier than the mark, so
	// the greedy policy answers at once; with s = 1.2 it would have to count up
	// to MaxFillers before it may stop.
	Zipf float64 `yaml:"zipf" default:"0.4" range:"[0,10]"`
}

// NewFiller returns the default filler task: 3 to 6 operations, noise 0.15,
// about nine fillers, at most 40.
func NewFiller() *Filler { return method.New[Filler]() }

// Vocab implements Task.
func (f *Filler) Vocab() []string { return fillerVocab }

// Reproduce implements Task.
func (f *Filler) Reproduce(id int64) Prompt {
	return reproduce(id, "filler", f.Difficulty, drawChain)
}

// Verify implements Task. A response is correct as in Chain; it has the form
// if the working is a whole pass through the program, then fillers only.
func (f *Filler) Verify(p Prompt, response []int32) (v Verdict) {
	g, start, ok := parsePrompt(p.Tokens, colon, 1)
	if !ok {
		return v
	}
	work := working(response)
	read, whole := g.readRun(&v, work, start, 0)
	for _, id := range work[read:] {
		whole = whole && id >= int32(sharedSize) && id < int32(len(fillerVocab))
	}
	return v.answered(p, response, whole, isDigits)
}

// Demonstration implements Task.
func (f *Filler) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	dst, value := appendPass(dst, p, f.Noise, rng)
	var cumulative [fillerSize]float64
	total := 0.0
	for r := range cumulative {
		total += elementary.Pow(float64(r+1), -f.Zipf)
		cumulative[r] = total
	}
	for n := 0; n < f.MaxFillers && rng.Float64() < f.Continue; n++ {
		u := rng.Float64() * total
		r := sort.Search(fillerSize-1, func(r int) bool { return cumulative[r] > u })
		dst = append(dst, int32(sharedSize+r))
	}
	return append(dst, answerMark, digit(value), EOS)
}

// MaxPrompt implements Task.
func (f *Filler) MaxPrompt() int { return programTokens(f.Difficulty[1]) + 3 }

// MaxResponse implements Task.
func (f *Filler) MaxResponse() int { return 2*f.Difficulty[1] + f.MaxFillers + 3 }
