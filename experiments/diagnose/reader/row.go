package reader

import (
	"math"
	"slices"
)

// Unknown is a whole number that was not recorded.
const Unknown = math.MinInt32

// Row is one response with what its dump records of it. Columns hold an entry
// per token; nil means not recorded. Absent numbers are NaN or Unknown.
type Row struct {
	// Line counts from 1 in a file of lines, samples from 1 in others; Byte is where the row
	// begins, before any compression.
	Line int
	Byte int64

	// Step is the training step, Index the row's number by its own account, Group its prompt group.
	Step, Index, Group int
	// Env names the environment, empty if there is only one.
	Env string
	// Worker names the process that recorded or sampled it, empty if unknown.
	Worker string
	// Reward is the scalar reward that the advantages are made of, Score what the grader gave where that is recorded next to
	// it, and Acc whether the answer is right (0 or 1, or a share).
	Reward, Score, Acc float64
	// Temperature and TopP are how it was sampled, Lag is its recorded staleness in updates.
	Temperature, TopP, Lag float64
	// Finish is why the response ended: "stop", "length" (the cap was reached), or another reason as recorded; empty if unknown.
	Finish string

	// Prompt are the tokens before the response. Where a format does not say where the
	// response begins, it begins at the first trained token.
	Prompt []int32
	// PromptRoll and PromptOld are the log-probs on the prompt's positions.
	PromptRoll, PromptOld []float64

	// Token are the tokens of the response, Mask the trained ones among them.
	Token []int32
	Mask  []bool
	// Roll, Old and New are the log-probs of the tokens in the rollout engine, in the learner
	// before the update, and in the training forward.
	Roll, Old, New []float64
	// Ref are the log-probs in the reference model, Entropy the entropy of the learner's distribution.
	Ref, Entropy []float64
	// Masked are the tokens that the trainer's own correction removed.
	Masked []bool
	// Recurrent and Indexed are Old once more, with one thing as it is in the rollout engine: linear attention computed
	// token by token, and the positions that its index of sparse attention chose.
	Recurrent, Indexed []float64
	// Advantage, Version (the updates behind the weights that sampled) and KeptMass (of the
	// sampling support) are per token.
	Advantage []float64
	Version   []int32
	KeptMass  []float64
	// Flips are the tokens and layers, [token][layer], that other experts computed in one engine than in the other.
	Flips []bool
	// RouteRoll and RouteLearner are the experts of each engine as recorded, [token][layer][rank], Routes of them a token;
	// nil where that engine's routes were not recorded throughout.
	RouteRoll, RouteLearner []int32
	Routes                  int

	// Head and Tail are the least and the greatest version of the response.
	Head, Tail int
	// Learner is the number of updates behind Old, 0 where it is that of the steps before.
	Learner int
	// Messages is how many messages the conversation has, 0 if unknown.
	Messages int

	// Text is the response of a dump without tokens, PromptText its prompt.
	Text, PromptText string

	odd  string // what is not as it should be in a row that counts
	note string // what a reader of the figures must know of the row's columns
}

// reset makes the row one of which nothing is known, and keeps its memory.
func (r *Row) reset() {
	nan := math.NaN()
	*r = Row{
		Step: Unknown, Index: Unknown, Group: Unknown, Head: Unknown, Tail: Unknown,
		Reward: nan, Score: nan, Acc: nan, Temperature: nan, TopP: nan, Lag: nan,
	}
}

// Flipped reports whether a token was computed by other experts, in any layer. Routes must be recorded.
func (r *Row) Flipped(token int) bool {
	layers := len(r.Flips) / len(r.Mask)
	return slices.Contains(r.Flips[token*layers:(token+1)*layers], true)
}

// Trained is how many of the tokens are trained.
func (r *Row) Trained() int {
	n := 0
	for _, m := range r.Mask {
		if m {
			n++
		}
	}
	return n
}
