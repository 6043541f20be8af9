package trainer

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/kernel"
	"driftlab/model"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/schedule"
)

// anyCluster draws where a system runs: its own numbers, the cluster, what everything
// costs, how long responses may get, and whether an environment takes part.
func anyCluster(r *rand.Rand, name string) []string {
	costs := fmt.Sprintf("{prefill_request: %d, prefill_token: %d, decode_step: %d, decode_slot: %d, learn_token: %d, sync: %d, push: %d, migrate: %d}",
		r.IntN(5), r.IntN(3), 1+r.IntN(20)*r.IntN(20), r.IntN(5), 1+r.IntN(4)*r.IntN(4), r.IntN(60), r.IntN(60), r.IntN(9))
	sets := []string{
		"schedule=" + varied(r, name), "eval.every=0", "model.layers=2", fmt.Sprint("seed=", r.IntN(1000)),
		fmt.Sprintf("cluster={workers: %d, engine: %d, trainers: %d, costs: %s}", 1+r.IntN(5), 1+r.IntN(2), 1+r.IntN(3), costs),
		fmt.Sprint("rollout.slots=", r.IntN(7)), fmt.Sprint("rollout.prompts=", 1+r.IntN(4)), fmt.Sprint("rollout.group=", 2+r.IntN(2)),
		fmt.Sprint("rollout.max_tokens=", 4+r.IntN(20)), "rollout.prefix_cache=" + fmt.Sprint(r.IntN(2) == 0),
	}
	if r.IntN(2) == 0 {
		sets = append(sets, "rollout.numerics=bf16", "learner.numerics=bf16")
	}
	if r.IntN(3) == 0 {
		sets = append(sets, "task={name: lookup, difficulty: [1, 2], calls: [0, 1], max_calls: 2, output: 2}")
	}
	if r.IntN(3) == 0 {
		sets = append(sets, "routing.replay="+[]string{"r2", "r3", "keep_routing"}[r.IntN(3)], "routing.gates="+[]string{"live", "recorded"}[r.IntN(2)])
	}
	return sets
}

// varied is a system with other numbers, within their ranges.
func varied(r *rand.Rand, name string) string {
	e, _ := schedule.Systems.Lookup(name)
	p := e.New()
	v := reflect.ValueOf(p).Elem()
	text := "{name: " + name
	for i := range v.NumField() {
		f, field := v.Field(i), v.Type().Field(i)
		was := reflect.ValueOf(f.Interface())
		switch {
		case field.Name == "Every":
			f.SetInt(int64(20 + r.IntN(100)))
		case strings.HasSuffix(field.Name, "Percent"):
			f.SetInt(int64(50 * r.IntN(4)))
		case f.Kind() == reflect.Int:
			f.SetInt(int64(r.IntN(4)))
		case f.Kind() == reflect.Bool:
			f.SetBool(r.IntN(2) == 0)
		default:
			continue
		}
		if method.Check(p) != nil {
			f.Set(was)
		}
		text += fmt.Sprintf(", %s: %v", field.Tag.Get("yaml"), f.Interface())
	}
	return text + "}"
}

// Any system in any cluster really trains, and its accounts are exact: the weights of
// its version, on the keys that its response had, give each token its log-prob and
// its routes, bit for bit; where the keys are all of that version, a scoring pass
// with those weights does too, whatever is replayed of the routes. What is trained is what the core counts, once, and
// what is not trained is under way or counted as dropped.
func TestAnyCluster(t *testing.T) {
	seeds := uint64(1)
	if *exhaustive {
		seeds = 12
	}
	for _, name := range onClock(t) {
		t.Run(name, func(t *testing.T) {
			tokens, old, mixed, stale, apart := 0, 0, 0, 0, 0
			mayStale, mayMix := false, false // by the numbers of a run
			for seed := range seeds {
				sets := anyCluster(rand.New(rand.NewPCG(seed, 6)), name)
				s := sessionOf(t, Options{}, sets...)
				stageOf[*behaviour](s).sampled = false // what is checked is the scoring pass
				weights := history{}
				of, samples := 0, 0 // generated tokens of this run
				staleBefore, mixedBefore := stale, mixed
				for step := range 4 {
					weights.keep(s)
					if err := s.Step(step); err != nil {
						t.Fatalf("%v\n%s", err, strings.Join(sets, "\n"))
					}
					b := &s.batch
					weights.checkTrace(t, s)
					for n, counts := range b.Mask {
						if !counts {
							continue
						}
						of++
						same := b.Behaviour.Logp[n] == b.LogpRoll[n]
						switch {
						case b.Stale[n] && !same:
							apart++
							fallthrough
						case b.Stale[n]:
							stale++
						case !same:
							t.Fatalf("step %d: token %d of version %d has log-prob %v, its weights say %v\n%s", step, n, b.Version[n], b.LogpRoll[n], b.Behaviour.Logp[n], strings.Join(sets, "\n"))
						}
						if int(b.Version[n]) < b.LearnerVersion {
							old++
						}
					}
					for i := range b.Len() {
						if from, to := b.Span(i); b.Version[from] != b.Version[to-1] {
							mixed++
						}
					}
					core := stageOf[*asynchronous](s).Core
					n := core.Counts()
					samples += b.Len() / s.recipe.Rollout.Group
					if n.TrainedTokens != of || n.Trained != samples {
						t.Fatalf("step %d: %d tokens trained of %d samples, the batches had %d of %d\n%s", step, n.TrainedTokens, n.Trained, of, samples, strings.Join(sets, "\n"))
					}
					if lost := n.Submitted - n.Trained - n.Dropped - n.Requeued - len(core.Samples()); lost > 0 {
						t.Fatalf("step %d: %d samples are lost\n%s", step, lost, strings.Join(sets, "\n"))
					}
				}
				tokens += of
				how := schedule.Continues(s.recipe.Schedule.Params)
				keeps, stays := how == schedule.KeepStale, how < 0 || how == schedule.Restart
				if stale > staleBefore && !keeps {
					t.Errorf("%d tokens saw keys of older weights\n%s", stale-staleBefore, strings.Join(sets, "\n"))
				}
				if mixed > mixedBefore && stays {
					t.Errorf("%d responses of several versions\n%s", mixed-mixedBefore, strings.Join(sets, "\n"))
				}
				// A response that tail batching leaves over is begun again after the update.
				mayStale, mayMix = mayStale || keeps, mayMix || !stays && name != "tail_batching"
				s.Close()
			}
			t.Logf("%d tokens, %d old, %d stale, %d of those with another law; %d responses of several versions", tokens, old, stale, apart, mixed)
			if *exhaustive && (mayStale && apart == 0 || mayMix && mixed == 0) {
				t.Errorf("no tokens saw keys of older weights, or no response has several versions")
			}
		})
	}
}

// history are the weights of a run, by the number of updates before them.
type history map[int]*model.Params

// keep takes the weights of the session as they are.
func (h history) keep(s *Session) { h[s.learner.Updates()] = s.Params().Clone() }

// packed are they in the formats of the rollout engines.
func (h history) packed(s *Session) map[int32]*engine.Weights {
	all := map[int32]*engine.Weights{}
	for v, p := range h {
		all[int32(v)] = engine.NewWeights(p.Config, s.recipe.Rollout.Numerics)
		all[int32(v)].Publish(p, v)
	}
	return all
}

// checkTrace computes the log-prob of every token of the batch, and the routes of
// every row, by what columns say of their versions alone: a row's keys are those of
// the weights that computed it first, unless the response was read again.
func (h history) checkTrace(t *testing.T, s *Session) {
	t.Helper()
	b, c, packed := &s.batch.Sampled, s.initial.Config, h.packed(s)
	pass, cache := engine.NewPass(c, 1), engine.NewCache(c, s.recipe.Rollout.Numerics, 1)
	defer pass.Close()
	row, per := make([]float32, c.Vocab), c.Layers*c.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		for k := from; k < to; k++ {
			logp, routes := traced(b, i, k, packed, pass, cache, row)
			if b.Mask[k] && logp != b.LogpRoll[k] {
				t.Fatalf("step %d: token %d of version %d has log-prob %v, the trace of its versions %v", s.batch.Step, k, b.Version[k], b.LogpRoll[k], logp)
			}
			last := len(routes) - per
			if !slices.Equal(routes[last:], b.RoutesRoll[k*per:(k+1)*per]) || k == from && !slices.Equal(routes[:last], b.PromptRoutes[i]) {
				t.Fatalf("step %d: the rows of token %d visit other experts than those on record", s.batch.Step, k)
			}
		}
	}
}

// traced is the log-prob of token k of response i, and the routes of the rows that
// are read for it: one, or the whole prefix where it is read with its weights.
func traced(b *batch.Sampled, i, k int, packed map[int32]*engine.Weights, pass *engine.Pass, cache *engine.Cache, row []float32) (float64, []uint8) {
	from, _ := b.Span(i)
	all := append(slices.Clone(b.Prompt[i]), b.Token[from:k]...)
	first := len(all) - 1
	if k == from || !b.Stale[k] && (b.Version[k] != b.Version[k-1] || b.Stale[k-1]) {
		first = 0
	}
	var pack engine.Pack
	pack.Add(first, all[first:])
	pack.Targets = []int32{int32(pack.Rows() - 1)}
	pass.Begin(packed[b.Version[k]], &pack, engine.Options{Cache: cache, Slots: []int{0}})
	pass.Forward()
	kernel.LogSoftmax(row, pass.Logits(), b.Vocab, 1)
	return float64(row[b.Token[k]]), pass.Routes()
}
