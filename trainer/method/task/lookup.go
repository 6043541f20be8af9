package task

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"driftlab/trainer/method"
)

// Lookup is the chain task with operands that the prompt hides and a tool knows.
// To call it the working writes "@" after the marker in question. The
// environment replies with symbols of no bearing and, last, the operand:
//
//	prompt    <bos> c + 3 b + ? a + 2 : 7
//	response  c 0 b @ ξ τ τ ο σ υ 4 4 a 6 # 6 <eos>
//
// From ξ to the first 4 it is the reply. The symbols are drawn from a stream that prompt and
// number of the call determine; so are the operands, from the prompt alone, as
// if they stood in a table that no policy can learn. A policy that does not
// call can only guess.
//
// The symbols of replies are rare: demonstrations show replies of other, familiar
// symbols, but for the share Rare. What the policy reads after a call is
// therefore off the distribution it was trained on, as the output of a real
// tool is.
//
// Notes are the same without a tool. A prompt with "=" for ":" hides nothing and
// asks for one at every step: "!", as many familiar symbols, the operand. The
// policy writes them itself, so that there is text of its own to compare with,
// of the same length in the same places.
//
//	prompt    <bos> b + 4 a + 2 = 7
//	response  b ! A F C C B E 4 1 a ! D A A F B C 2 3 # 3 <eos>
//
// The working is learnable for the reasons given at Chain. The operand of a
// call is the last token of the reply, from which the value follows: the value
// before and the marker are the nearest of their kind, a fixed number of tokens
// back, and the operator carries the marker in the prompt.
type Lookup struct {
	// Difficulty is the range of the number of operations.
	Difficulty Range `yaml:"difficulty,flow" default:"4 6" range:"[1,12]"`
	// Calls is the range of the number of hidden operands, at most as many as
	// there are operations.
	Calls Range `yaml:"calls,flow" default:"0 4" range:"[0,12]"`
	// MaxCalls bounds the calls of a response that are answered.
	MaxCalls int `yaml:"max_calls" default:"8" range:"[0,4096]"`
	// Output is the number of symbols of a reply, before the operand.
	Output int `yaml:"output" default:"6" range:"[0,4096]"`
	// Noise is the chance that a demonstration replaces a value by a random digit.
	Noise float64 `yaml:"noise" default:"0.1" range:"[0,1]"`
	// Guess is the chance that a demonstration writes a random value in place of
	// a call.
	Guess float64 `yaml:"guess" default:"0.1" range:"[0,1]"`
	// Rare is the share of demonstrations whose replies have the rare symbols.
	Rare float64 `yaml:"rare" default:"0.05" range:"[0,1]"`
	// Notes is the share of prompts that ask for notes.
	Notes float64 `yaml:"notes" range:"[0,1]"`
}

// NewLookup returns the default lookup task: 4 to 6 operations, up to four of
// their operands hidden, replies of six symbols.
func NewLookup() *Lookup { return method.New[Lookup]() }

// Validate checks the calls against the operations and the calls that are answered.
func (l *Lookup) Validate() error {
	var faults []error
	if l.Calls[1] > l.Difficulty[0] {
		faults = append(faults, fmt.Errorf("calls: %d operands to hide, difficulty begins with %d operations", l.Calls[1], l.Difficulty[0]))
	}
	if l.MaxCalls < l.Calls[1] {
		faults = append(faults, fmt.Errorf("max_calls %d: must be at least the operands hidden, %d", l.MaxCalls, l.Calls[1]))
	}
	return errors.Join(faults...)
}

// Vocab implements Task.
func (l *Lookup) Vocab() []string { return lookupVocab }

// Reproduce implements Task.
func (l *Lookup) Reproduce(id int64) Prompt {
	return reproduce(id, "lookup", l.Difficulty, func(rng *rand.Rand, n int) (tokens, answer []int32) {
		tokens, _ = drawChain(rng, n)
		if l.Notes > 0 && rng.Float64() < l.Notes {
			tokens[len(tokens)-2] = equals
		} else {
			for _, i := range rng.Perm(n)[:l.Calls.draw(rng)] {
				tokens[programTokens(i)+3] = hidden
			}
		}
		g, start, _ := parseLookup(tokens)
		return tokens, []int32{digit(g.run(start))}
	})
}

// parseLookup reads a prompt and looks its hidden operands up.
func parseLookup(tokens []int32) (g program, start int, ok bool) {
	var whole [3*markers + 3]int32
	if len(tokens) > len(whole) {
		return program{}, 0, false
	}
	key := hashTokens(tokens)
	copy(whole[:], tokens)
	for at := 3; at < len(tokens)-2; at += 3 {
		if whole[at] == hidden {
			whole[at] = digit(lookUp(key, whole[at-2]))
		}
	}
	if wantsNotes(tokens) {
		return parsePrompt(whole[:len(tokens)], equals, 1)
	}
	return parsePrompt(whole[:len(tokens)], colon, 1)
}

func wantsNotes(prompt []int32) bool {
	return len(prompt) > 1 && prompt[len(prompt)-2] == equals
}

// Verify implements Task. A response is correct as in Chain. It has the form if
// the working is a whole pass through the program, with or without calls and
// notes. Each value is a step.
func (l *Lookup) Verify(p Prompt, response []int32) (v Verdict) {
	g, start, ok := parseLookup(p.Tokens)
	if !ok {
		return v
	}
	calls := 0
	work := working(response)
	read, complete := g.readCalls(&v, work, start, 0, func(rest []int32) int {
		switch {
		case len(rest) > 0 && rest[0] == callMark:
			calls++
			if calls > l.MaxCalls {
				return 1
			}
			return l.Output + 2
		case len(rest) > 0 && rest[0] == noteMark:
			return l.Output + 2
		}
		return 0
	})
	return v.answered(p, response, complete && read == len(work), isDigits)
}

// Demonstration implements Task. It holds the replies too: see Generated.
func (l *Lookup) Demonstration(dst []int32, p Prompt, rng *rand.Rand) []int32 {
	g, value, ok := parseLookup(p.Tokens)
	if !ok {
		panic("task: not a lookup prompt: " + Text(lookupVocab, p.Tokens))
	}
	rare, notes := rng.Float64() < l.Rare, wantsNotes(p.Tokens)
	for i, o := range g.ops[:g.n] {
		dst = append(dst, marker(i, g.n))
		switch {
		case notes:
			dst = l.appendBlock(append(dst, noteMark), false, o.operand, rng)
			value = noisy(o.apply(value), l.Noise, rng)
		case p.Tokens[programTokens(i)+3] != hidden:
			value = noisy(o.apply(value), l.Noise, rng)
		case rng.Float64() < l.Guess:
			value = rng.IntN(10)
		default:
			dst = l.appendBlock(append(dst, callMark), rare, o.operand, rng)
			value = noisy(o.apply(value), l.Noise, rng)
		}
		dst = append(dst, digit(value))
	}
	return append(dst, answerMark, digit(value), EOS)
}

// appendBlock writes the symbols and the operand of a reply or a note.
func (l *Lookup) appendBlock(dst []int32, rare bool, operand int, rng *rand.Rand) []int32 {
	first, count := symbolRange(rare)
	for range l.Output {
		dst = append(dst, first+rng.Int32N(count))
	}
	return append(dst, digit(operand))
}

// MaxPrompt implements Task.
func (l *Lookup) MaxPrompt() int { return programTokens(l.Difficulty[1]) + 3 }

// MaxResponse implements Task.
func (l *Lookup) MaxResponse() int {
	blocks := l.Calls[1]
	if l.Notes > 0 {
		blocks = l.Difficulty[1]
	}
	return 2*l.Difficulty[1] + blocks*(l.Output+2) + 3
}

// hidden stands in a prompt for an operand that only the tool knows.
const hidden = try

// symbolRange are the ids without meaning: the familiar symbols, or the rare ones.
func symbolRange(rare bool) (first, count int32) {
	if rare {
		return familiar0 + familiarSize, rareSize
	}
	return familiar0, familiarSize
}

// Symbols returns the ids that a reply may have before its operand: the rare
// ones of the tool, or the familiar ones of most demonstrations.
func (l *Lookup) Symbols(rare bool) []int32 {
	first, count := symbolRange(rare)
	ids := make([]int32, count)
	for i := range ids {
		ids[i] = first + int32(i)
	}
	return ids
}

// Reply implements Tool: after "@" Output rare symbols and the operand of the
// marker before it. A call without a marker of the prompt is answered alike,
// with a digit of no use; one beyond MaxCalls is not answered.
func (l *Lookup) Reply(dst, prompt, response []int32) []int32 {
	n := len(response)
	if n == 0 || response[n-1] != callMark {
		return dst
	}
	calls := 0
	for _, id := range response {
		if id == callMark {
			calls++
		}
	}
	if calls > l.MaxCalls {
		return dst
	}
	argument := PAD
	if n > 1 {
		argument = response[n-2]
	}
	key := hashTokens(prompt)
	first, count := symbolRange(true)
	for i := range l.Output {
		at := uint64(calls)<<32 | uint64(i)
		dst = append(dst, first+int32(mix(key^mix(at))%uint64(count)))
	}
	return append(dst, digit(operandOf(key, prompt, argument)))
}

// operandOf is the operand that belongs to a marker: the prompt's, or the one
// it hides.
func operandOf(key uint64, prompt []int32, argument int32) int {
	for at := 1; at+2 < len(prompt); at += 3 {
		if prompt[at] != argument {
			continue
		}
		if d, ok := digitOf(prompt[at+2]); ok {
			return d
		}
	}
	return lookUp(key, argument)
}

// lookUp is the table: a digit for every prompt and marker.
func lookUp(key uint64, argument int32) int {
	return int(mix(key^uint64(uint32(argument))) % 10)
}
