package task

import "math/rand/v2"

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
	// Difficulty is the value of the knob, within the task's range.
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
