package measurements

import (
	_ "embed" // of the rungs
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"driftlab/experiments/study/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/task"

	"go.yaml.in/yaml/v4"
)

// modelSize is what scale means here: a model's, and that of its answers.
type modelSize struct {
	// Layers and Width are of the residual stream, Vocabulary is in tokens.
	Layers, Width, Vocabulary int
	// Experts is the number of a layer, TopK how many of them a token visits; a
	// dense model has neither.
	Experts int
	TopK    int `yaml:"visited"`
	// Length is the length of an answer, in tokens.
	Length int
}

// modelFamily is the kind of model that a law is fitted to.
type modelFamily string

// The families. A dense model is as wide inside as two of the other's experts.
const (
	moeFamily   modelFamily = "MoE"
	denseFamily modelFamily = "dense"
)

// baseSize is where the axes meet: every rung but the corners differs from it along
// one of them.
var baseSize = rungLists()["MoE"][0].Size

// axis is one dimension of Size.
type axis struct {
	name, unit string
	of         func(*modelSize) *int
}

var sizeAxes = []axis{
	{"depth", "layers", func(s *modelSize) *int { return &s.Layers }},
	{"width", "width", func(s *modelSize) *int { return &s.Width }},
	{"vocabulary", "tokens of the vocabulary", func(s *modelSize) *int { return &s.Vocabulary }},
	{"length", "tokens of an answer", func(s *modelSize) *int { return &s.Length }},
	{"experts", "experts", func(s *modelSize) *int { return &s.Experts }},
	{"experts visited", "experts visited", func(s *modelSize) *int { return &s.TopK }},
}

// axes of a family: a dense model has no experts.
func (f modelFamily) axes() []axis {
	if f == denseFamily {
		return sizeAxes[:4]
	}
	return sizeAxes
}

// coordinates are the logarithms of a size over the base's, axis by axis.
func (f modelFamily) coordinates(s modelSize) []float64 {
	return stats.Map(f.axes(), func(a axis) float64 { return elementary.Log(float64(*a.of(&s)) / float64(*a.of(&baseSize))) })
}

// rung is one size of one family, and how much of it is measured: see rungs.yaml.
type rung struct {
	Family modelFamily
	Size   modelSize `yaml:",inline"`
	// Corner keeps the rung out of the fit, and the law has to predict it.
	Corner bool
	// Steps is the length of the warm start.
	Steps int
	// Start changes the weights that the warm start begins with.
	Start claim.Start `yaml:"-"`
	// Every is n where every n-th seed has a model of this rung; 1 for all.
	Every int
	// Answers is how many are sampled of each model.
	Answers int
}

//go:embed rungs.yaml
var rungsText []byte

// rungLists are the lists of rungs.yaml.
var rungLists = sync.OnceValue(func() map[string][]rung {
	var lines map[string][]yaml.Node
	if err := yaml.Load(rungsText, &lines); err != nil {
		panic("rungs.yaml: " + err.Error()) // tests read it
	}
	lists := map[string][]rung{}
	for name, of := range lines {
		for i := range of {
			var r rung
			if i > 0 {
				r = lists[name][0]
			}
			if err := claim.Decode(&of[i], &r); err != nil {
				panic("rungs.yaml: " + err.Error())
			}
			lists[name] = append(lists[name], r)
		}
	}
	return lists
})

// allRungs are the ladder of scale, lawRungs is the dense one, each rung trained to the loss of the base, and evenSteps are wide rungs of it
// with the steps of the base, for half of the seeds.
func allRungs() []rung  { return slices.Concat(rungLists()["MoE"], rungLists()["dense"]) }
func lawRungs() []rung  { return slices.Clone(rungLists()["equal loss"]) }
func evenSteps() []rung { return slices.Clone(rungLists()["equal steps"]) }

// Name says which rung it is; observations carry it.
func (r rung) Name() string {
	s := r.Size
	name := fmt.Sprintf("%s, %d layers, width %d, vocabulary %d, length %d", r.Family, s.Layers, s.Width, s.Vocabulary, s.Length)
	if r.Family == moeFamily {
		name += fmt.Sprintf(", %d experts top-%d", s.Experts, s.TopK)
	}
	return name
}

// short names the sizes in which the rung differs from the base.
func (r rung) short() string {
	var parts []string
	for _, a := range r.Family.axes() {
		if n := *a.of(&r.Size); n != *a.of(&baseSize) {
			parts = append(parts, fmt.Sprintf("%s %d", a.name, n))
		}
	}
	if len(parts) == 0 {
		return "base"
	}
	return strings.Join(parts, ", ")
}

// measured are the rungs that a replication measures: those of its seed or, in a preview, all without a corner up to 8 layers, a width
// and the like, with fewer answers and a warm start of steps(r) steps.
func measured(e *claim.Env, rungs []rung, width int, steps func(r rung) int) (list []rung) {
	for _, r := range rungs {
		if e.Size == claim.Full {
			if e.Seed%uint64(r.Every) == 0 {
				list = append(list, r)
			}
		} else if r.previewed(e.Size, width) {
			r.Steps, r.Answers = e.Pick(0, steps(r), 2), e.Pick(0, max(r.Answers/8, 4), 2)
			list = append(list, r)
		}
	}
	return list
}

// previewed reports whether a preview has a rung: models up to a width, and at the tiny size up to half of all that bounds them.
func (r rung) previewed(size claim.Size, width int) bool {
	s, part := r.Size, int(size)
	return !r.Corner && part*s.Layers <= 8 && part*s.Width <= width && part*s.Vocabulary <= 512 && part*s.Length <= lengthOf(52) && (part*s.Experts <= 32 || s.TopK <= 2)
}

// chapterWords is the number of words of a chapter.
const chapterWords = 6

// headWidth is the width of an attention head: wider models have more heads.
const headWidth = 16

// lengthOf is the length of an answer of n chapters without slips, and about that
// of one with them.
func lengthOf(n int) int {
	t := task.Chapters{Difficulty: task.Range{n, n}, Words: chapterWords}
	return t.MaxResponse()
}

// wordTails holds the entropy of a word at 1.15 nats whatever the vocabulary: the
// distribution of the text keeps its entropy while the number of words grows.
var wordTails = map[int]float64{32: 0.5829, 128: 0.1711, 512: 0.1276, 4096: 0.0987}

// prose is the task of a rung. All its answers have one number of chapters: a model
// this small does not read from the prompt how many are asked for, but it counts down.
func (r rung) prose() *task.Chapters {
	n := (r.Size.Length - 1) / (lengthOf(2) - lengthOf(1))
	return &task.Chapters{Difficulty: task.Range{n, n}, Words: chapterWords, Vocabulary: r.Size.Vocabulary,
		Tail: wordTails[r.Size.Vocabulary], Zipf: 1, Noise: 0.1, Slip: 0.1}
}

// changes turn the recipe of chain-base into the rung's warm start.
func (r rung) changes() []string {
	s, t := r.Size, r.prose()
	dff := 2 * s.Width
	if r.Family == denseFamily {
		dff *= baseSize.TopK
	}
	return []string{
		fmt.Sprintf("task={name: chapters, difficulty: [%d, %d], words: %d, vocabulary: %d, tail: %v, zipf: %v, noise: %v, slip: %v}",
			t.Difficulty[0], t.Difficulty[1], t.Words, t.Vocabulary, t.Tail, t.Zipf, t.Noise, t.Slip),
		fmt.Sprintf("model.layers=%d", s.Layers), fmt.Sprintf("model.d_model=%d", s.Width), fmt.Sprintf("model.heads=%d", s.Width/headWidth), fmt.Sprintf("model.d_ff=%d", dff),
		fmt.Sprintf("model.experts=%d", s.Experts), fmt.Sprintf("model.top_k=%d", s.TopK),
		fmt.Sprintf("model.context=%d", max(128, t.MaxPrompt()+t.MaxResponse())),
		// Base 100 has no frequency that turns once in two thousand tokens.
		"model.rope_theta=1000", fmt.Sprintf("pretrain.steps=%d", r.Steps), fmt.Sprintf("pretrain.batch=%d", max(1, 976/r.Size.Length)), // about a thousand tokens
	}
}

// changedStarts are changes of the weights at the start by name, each of which gives a model something that large models have.
// None is undone by training of some hundred steps.
var changedStarts = map[string]claim.Start{
	// growing makes the output projections of attention and feed-forward network four times as large, so
	// that the residual stream grows along the layers.
	"growing": {Name: "growing", Change: eachTensor(func(name string, _ int, data []float32) {
		if strings.Contains(name, ".o_proj.") || strings.Contains(name, ".w2.") || strings.Contains(name, ".down_proj.") {
			scale(data, 4)
		}
	})},
	// heavy-tailed takes the cube of each weight, and scales the matrix to its root mean square: a
	// kurtosis of about 46 in place of 3.
	"heavy-tailed": {Name: "heavy-tailed", Change: eachTensor(func(_ string, _ int, data []float32) {
		before := rms(data)
		for i, v := range data {
			data[i] = v * v * v
		}
		scale(data, before/rms(data))
	})},
	// massive-channel adds 30 to one channel of all embeddings, 60 times the standard deviation of the others.
	"massive-channel": {Name: "massive-channel", Change: eachTensor(func(name string, width int, data []float32) {
		if isEmbedding(name) {
			for i := outlierChannel; i < len(data); i += width {
				data[i] += 30
			}
		}
	})},
	// uneven-channels scales the channels of the embeddings by factors from 1/5 to 5, no powers of two.
	"uneven-channels": {Name: "uneven-channels", Change: eachTensor(func(name string, width int, data []float32) {
		if isEmbedding(name) {
			for i := range data {
				place := float64(2*(i%width))/float64(width-1) - 1
				data[i] *= float32(elementary.Exp(float64(place * math.Ln2 * 7 / 3)))
			}
		}
	})},
}

// outlierChannel is the one of massive-channel.
const outlierChannel = 3

func isEmbedding(name string) bool { return strings.Contains(name, "embed_") }

// eachTensor changes each matrix, which has as many columns as width says.
func eachTensor(change func(name string, width int, data []float32)) func(*model.Params) {
	return func(p *model.Params) {
		for _, t := range p.Tensors() {
			if len(t.Shape) == 2 {
				change(t.Name, t.Shape[1], t.Data)
			}
		}
	}
}

func rms(x []float32) float32 {
	d := doubles(x)
	return float32(math.Sqrt(stats.Dot(d, d) / float64(len(x))))
}
