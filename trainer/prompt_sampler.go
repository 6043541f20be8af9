package trainer

import (
	"cmp"
	"slices"

	"driftlab/precision/elementary"
	"driftlab/trainer/engines"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// promptSampler remembers how often the prompts of a pool were solved when they last came, and
// gives hard ones more of the same number of responses.
type promptSampler struct {
	how       string
	seed      uint64
	source    *engines.Prompts
	group     int // responses per prompt in the mean
	places    map[int64]int
	right     []float64 // at the last visit, by place in the pool
	tried     []float64
	sizes     []int // of the step's groups
	*adaptive       // nil but for how adaptive
}

func newPromptSampler(s *Session) (stage, error) {
	o := s.recipe.Rollout.Pool
	if o == nil || o.Focus == "" {
		return nil, nil
	}
	f := &promptSampler{how: o.Focus, seed: s.recipe.Seed, source: s.source, group: s.recipe.Rollout.Group, places: map[int64]int{},
		right: make([]float64, o.Prompts), tried: make([]float64, o.Prompts)}
	for i, p := range s.source.Pool() {
		f.places[p.ID] = i
	}
	if o.Focus == recipe.FocusAdaptive {
		f.adaptive = &adaptive{answers: make([]*batch.Sampled, o.Prompts)}
	}
	return f, nil
}

// rate is the pass rate of a place at its last visit, smoothed by a response of either
// kind.
func (f *promptSampler) rate(place int) float64 { return (f.right[place] + 1) / (f.tried[place] + 2) }

// ask takes the step's prompts, in the order of the pool, and says how many responses
// each gets; upsampling draws others in their place.
func (f *promptSampler) ask(prompts []task.Prompt, step int) []task.Prompt {
	if f.how == recipe.FocusUpsample {
		f.draw(prompts, step)
	}
	f.sizes = f.sizes[:0]
	for range prompts {
		f.sizes = append(f.sizes, f.group)
	}
	if f.how == recipe.FocusKnapsack {
		f.fill(prompts)
	}
	return prompts
}

// draw replaces the prompts by as many different ones of the pool, each drawn with
// weight 1.1 less its rate: the largest keys log(u)/weight (Efraimidis and Spirakis).
func (f *promptSampler) draw(prompts []task.Prompt, step int) {
	rng := stream.New(f.seed, stream.Focus, step)
	order := slices.Clone(f.source.Left(step))
	if len(order) < len(prompts) {
		return // too few are kept to choose among
	}
	keys := make([]float64, len(f.right))
	for _, place := range order {
		keys[place] = elementary.Log(1-float64(rng.Float64())) / (1.1 - f.rate(place))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(keys[b], keys[a]) })
	for i := range prompts {
		prompts[i] = f.source.Pool()[order[i]]
	}
}

// fill hands the responses out one by one, to the group to which the next is worth most:
// the value is concave in the size, so that is the best allocation.
func (f *promptSampler) fill(prompts []task.Prompt) {
	left := len(prompts) * (f.group - recipe.LeastKnapsack)
	worth := make([]float64, len(prompts))
	for g, p := range prompts {
		f.sizes[g] = recipe.LeastKnapsack
		worth[g] = nextWorth(f.rate(f.places[p.ID]), recipe.LeastKnapsack)
	}
	for ; left > 0; left-- {
		best := 0
		for g := range worth {
			if worth[g] > worth[best] {
				best = g
			}
		}
		f.sizes[best]++
		worth[best] = nextWorth(f.rate(f.places[prompts[best].ID]), f.sizes[best])
	}
}

// nextWorth is what another response adds to p(1-p)²·(1 - pⁿ - (1-p)ⁿ).
func nextWorth(p float64, n int) float64 {
	q := 1 - p
	mixed := float64(elementary.Pow(p, float64(n))*q) + float64(elementary.Pow(q, float64(n))*p)
	return p * q * q * mixed
}

// size is the number of responses to a step's prompt; without a focus it is the
// recipe's.
func (f *promptSampler) size(g, group int) int {
	if f == nil {
		return group
	}
	return f.sizes[g]
}

// run remembers what became of the step's groups, and logs the share that has a
// gradient, the share of responses that went to prompts solved less than a quarter of
// the time, and the largest group.
func (f *promptSampler) run(s *Session) error {
	b := &s.batch
	s.groups.Find(b.Group)
	var mixed, hard, largest, lent float64
	for rows := range s.groups.All() {
		right, tried := correct(b, rows), float64(len(rows))
		place := f.places[b.PromptID[rows[0]]]
		if f.rate(place) < 0.25 {
			hard += tried
		}
		if right > 0 && right < tried {
			mixed++
		}
		largest = max(largest, tried)
		if f.adaptive != nil && f.reused[b.Group[rows[0]]] { // the answer lent was not tried
			right, tried, lent = right-1, tried-1, lent+1
		}
		f.right[place], f.tried[place] = right, tried
	}
	s.log("pool/mixed_groups", mixed/float64(s.groups.Len()))
	s.log("pool/hard_responses", hard/float64(b.Len()))
	s.log("pool/largest_group", largest)
	if f.adaptive != nil {
		s.log("pool/responses", float64(b.Len())-lent)
		s.log("pool/lent_groups", lent/float64(s.groups.Len()))
	}
	return nil
}

func (f *promptSampler) AppendState(dst []byte) []byte {
	return method.AppendState(f.appendAnswers(dst), f.right, f.tried)
}

func (f *promptSampler) SetState(state []byte) error {
	state, err := f.readAnswers(state)
	if err != nil {
		return err
	}
	return method.ReadState(state, f.right, f.tried)
}
