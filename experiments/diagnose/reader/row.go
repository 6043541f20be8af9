package reader

import (
	"fmt"
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
	// Learner is the number of updates behind Old, 0 where it is the number of the steps before.
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

// numbered are the columns of numbers per token, by their names in the neutral format; prompt is the column of the prompt's positions.
var numbered = [...]struct {
	name       string
	of, prompt func(*Row) *[]float64
}{
	{"logp_rollout", func(r *Row) *[]float64 { return &r.Roll }, func(r *Row) *[]float64 { return &r.PromptRoll }},
	{"logp_old", func(r *Row) *[]float64 { return &r.Old }, func(r *Row) *[]float64 { return &r.PromptOld }},
	{"logp_new", func(r *Row) *[]float64 { return &r.New }, nil},
	{"logp_old_recurrent", func(r *Row) *[]float64 { return &r.Recurrent }, nil},
	{"logp_old_indexed", func(r *Row) *[]float64 { return &r.Indexed }, nil},
	{"logp_ref", func(r *Row) *[]float64 { return &r.Ref }, nil},
	{"entropy", func(r *Row) *[]float64 { return &r.Entropy }, nil},
	{"advantage", func(r *Row) *[]float64 { return &r.Advantage }, nil},
	{"kept_mass", func(r *Row) *[]float64 { return &r.KeptMass }, nil},
}

// sequence is what a format has of a response.
type sequence struct {
	// column is the column of a name of the neutral format, nil where it was not recorded, and called the file's own name for it.
	column func(name string) []float64
	called func(name string) string
	// Columns have an entry for each of n tokens, of which those from one on, up to another, are the response. What is before
	// them is the prompt; where token_ids is longer than n, the prompt is its beginning.
	n, from, to int
	// trained reports whether a token is; nil goes by the column mask, and all are without one.
	trained func(i int) bool
}

// named are columns by the names of the neutral format, for a sequence.
type named map[string][]float64

func (c named) column(name string) []float64 { return c[name] }

// fill cuts the columns of a sequence into prompt and response.
func (r *Row) fill(s sequence) (err error) {
	column := func(name string) []float64 {
		if c := s.column(name); c == nil || len(c) == s.n {
			return c
		} else if err == nil {
			err = fmt.Errorf("%s has %d entries for %d tokens", s.called(name), len(c), s.n)
		}
		return nil
	}
	whole := func(name string, column []float64) []int32 {
		list, wrong := int32s(column)
		if wrong != nil && err == nil {
			err = fmt.Errorf("%s: %w", s.called(name), wrong)
		}
		return list
	}
	cut := func(c []float64) []float64 {
		if c = recorded(c); c != nil {
			c = c[s.from:s.to]
		}
		return c
	}
	r.Prompt, r.Token = nil, nil
	for _, c := range numbered {
		all := column(c.name)
		if *c.of(r) = cut(all); c.prompt == nil {
			continue
		}
		if *c.prompt(r) = s.column("prompt_" + c.name); s.from > 0 && all != nil {
			*c.prompt(r) = all[:s.from]
		}
	}
	r.Masked, r.Version = truths(cut(column("is_masked"))), whole("version", cut(column("version")))
	mask := column("mask")
	r.Mask = make([]bool, s.to-s.from)
	for i := range r.Mask {
		r.Mask[i] = s.trained == nil && (mask == nil || mask[s.from+i] != 0 && mask[s.from+i] == mask[s.from+i]) || s.trained != nil && s.trained(s.from+i)
	}
	ids := s.column("token_ids")
	if lead := len(ids) - s.n; ids != nil && lead < 0 {
		column("token_ids") // says so
	} else if ids != nil {
		list := whole("token_ids", ids[:lead+s.to])
		if list != nil {
			r.Prompt, r.Token = list[:lead+s.from:lead+s.from], list[lead+s.from:]
		}
		if lead+s.from == 0 {
			r.Prompt = nil
		}
	}
	if prompt := s.column("prompt_ids"); prompt != nil {
		r.Prompt = whole("prompt_ids", prompt)
	}
	for _, c := range [...][]float64{r.PromptRoll, r.PromptOld} {
		if c != nil && r.Prompt != nil && len(c) != len(r.Prompt) && err == nil {
			err = fmt.Errorf("the log-probs of the prompt do not fit its %d tokens", len(r.Prompt))
		}
	}
	if len(r.Version) > 0 {
		r.Head, r.Tail = int(slices.Min(r.Version)), int(slices.Max(r.Version))
	}
	return err
}
