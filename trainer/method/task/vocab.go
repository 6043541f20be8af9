package task

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The ids that every vocabulary shares.
const (
	// PAD fills unused places of a rectangle; no prompt and no response contains it.
	PAD int32 = iota
	// BOS opens every prompt.
	BOS
	// EOS ends every response.
	EOS
)

// AnswerMark opens the answer in every vocabulary.
const AnswerMark = int32(answerMark)

// The layout of the shared vocabulary after PAD, BOS and EOS.
const (
	digit0     = EOS + 1     // ten digits
	plus       = digit0 + 10 // the operators: plus, minus, times
	minus      = plus + 1
	times      = plus + 2
	colon      = plus + 3 // ends the program of a chain: the start value follows
	answerMark = plus + 4 // opens the answer
	equals     = plus + 5 // ends the columns of an addition, or the program of a search
	try        = plus + 6 // opens a candidate of a search
	marker0    = plus + 7 // twelve markers, a to l
	markers    = 12
	sharedSize = int(marker0) + markers
	fillerSize = 32 // tokens of no bearing, after the shared vocabulary
)

// The layout of the lookup task's vocabulary after the shared one.
const (
	callMark     = int32(sharedSize) // calls the tool
	noteMark     = callMark + 1      // opens a note, which the policy writes itself
	familiar0    = callMark + 2      // symbols of notes and of the replies in demonstrations
	familiarSize = 6
	rareSize     = 24 // symbols of the tool's replies
)

// sharedVocab is the vocabulary of every task but filler, lookup and chapters.
var sharedVocab = append([]string{
	"<pad>", "<bos>", "<eos>",
	"0", "1", "2", "3", "4", "5", "6", "7", "8", "9",
	"+", "-", "*", ":", "#", "=", "?",
}, strings.Split("abcdefghijkl", "")...)

// fillerVocab is the shared vocabulary followed by the fillers A to Z and A' to F'.
var fillerVocab = append(slices.Clone(sharedVocab), strings.Fields(
	"A B C D E F G H I J K L M N O P Q R S T U V W X Y Z A' B' C' D' E' F'")...)

// lookupVocab is the shared vocabulary followed by the marks of calls and notes,
// the familiar symbols A to F and the rare ones α to ω.
var lookupVocab = append(slices.Clone(sharedVocab), strings.Fields(
	"@ ! A B C D E F α β γ δ ε ζ η θ ι κ λ μ ν ξ ο π ρ σ τ υ φ χ ψ ω")...)

// wordVocab is the shared vocabulary followed by numbered words: the markers are
// the first twelve. Every vocabulary of the chapters task is a beginning of it.
var wordVocab = sync.OnceValue(func() []string {
	vocab := append(make([]string, 0, mostVocabulary), sharedVocab...)
	for n := markers; len(vocab) < mostVocabulary; n++ {
		vocab = append(vocab, "w"+strconv.Itoa(n))
	}
	return vocab
})

// Text writes tokens as words of the vocabulary with spaces between them; an
// id outside the vocabulary is written as "<?>".
func Text(vocab []string, tokens []int32) string {
	words := make([]string, len(tokens))
	for i, id := range tokens {
		if words[i] = "<?>"; id >= 0 && int(id) < len(vocab) {
			words[i] = vocab[id]
		}
	}
	return strings.Join(words, " ")
}

// Parse is the inverse of Text: words of the vocabulary, separated by spaces.
func Parse(vocab []string, text string) ([]int32, error) {
	var tokens []int32
	for i, word := range strings.Fields(text) {
		id := slices.Index(vocab, word)
		if id < 0 {
			return nil, fmt.Errorf("task: word %d, %q, is not in the vocabulary", i+1, word)
		}
		tokens = append(tokens, int32(id))
	}
	return tokens, nil
}

// digit returns the token of a digit 0..9.
func digit(d int) int32 { return digit0 + int32(d) }

func digitOf(id int32) (d int, ok bool) {
	d = int(id - digit0)
	return d, d >= 0 && d < 10
}

// appendDigits writes a number with count digits.
func appendDigits(dst []int32, n, count int) []int32 {
	from := len(dst)
	for range count {
		dst = slices.Insert(dst, from, digit(n%10))
		n /= 10
	}
	return dst
}

// numberOf reads a number.
func numberOf(tokens []int32) (n int, ok bool) {
	for _, id := range tokens {
		d, isDigit := digitOf(id)
		if !isDigit {
			return 0, false
		}
		n = 10*n + d
	}
	return n, true
}

func isDigits(tokens []int32) bool {
	_, ok := numberOf(tokens)
	return ok
}

// answered is the verdict on a response, with its steps: correct with the prompt's answer, and of the task's form with a whole
// working and a valid answer of as many tokens. A response that does not end with an answer is neither.
func (v Verdict) answered(p Prompt, response []int32, whole bool, valid func(answer []int32) bool) Verdict {
	answer, ended := splitAnswer(response)
	v.Correct = ended && slices.Equal(answer, p.Answer)
	v.Format = ended && whole && len(answer) == len(p.Answer) && valid(answer)
	return v
}

// splitAnswer cuts the answer from a response: working # answer EOS. It fails
// unless there is exactly one mark, EOS is the last token and the only one of
// its kind, and neither PAD nor BOS occurs.
func splitAnswer(response []int32) (answer []int32, ok bool) {
	mark, end := slices.Index(response, answerMark), slices.Index(response, EOS)
	if mark < 0 || end != len(response)-1 || slices.Contains(response, PAD) || slices.Contains(response, BOS) {
		return nil, false
	}
	answer = response[mark+1 : end]
	return answer, !slices.Contains(answer, answerMark)
}

// working returns the tokens before the mark, or the whole response where
// there is none, so that a truncated response can still be read step by step.
func working(response []int32) []int32 {
	if i := slices.Index(response, answerMark); i >= 0 {
		return response[:i]
	}
	return response
}
