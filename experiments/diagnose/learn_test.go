package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// A layout is how healthy runs make and record rewards and advantages.
type layout struct {
	name      string
	rewards   func(r *rand.Rand, p float64, length int) (reward, acc float64)
	advantage func(reward []float64, i int, r *rand.Rand) float64
	// record changes what is recorded of a response.
	record func(r *rand.Rand, row *reader.Row)
	sizes  func(r *rand.Rand) int
	groups int
}

func binary(r *rand.Rand, p float64, _ int) (float64, float64) {
	if r.Float64() < p {
		return 1, 1
	}
	return 0, 0
}

// standardised is GRPO's advantage, centredOnly Dr. GRPO's, leaveOneOut RLOO's.
func standardised(reward []float64, i int, _ *rand.Rand) float64 {
	m := momentsOf(reward)
	return (reward[i] - m.mean) / (m.deviation + 1e-6)
}

func centredOnly(reward []float64, i int, _ *rand.Rand) float64 {
	return reward[i] - momentsOf(reward).mean
}

func leaveOneOut(reward []float64, i int, r *rand.Rand) float64 {
	n := float64(len(reward))
	return centredOnly(reward, i, r) * n / (n - 1)
}

// guarded is NeMo-RL's advantage with the leave-one-out deviation, where that is not near 0.
func guarded(reward []float64, i int, r *rand.Rand) float64 {
	others := slices.Delete(slices.Clone(reward), i, i+1)
	m := momentsOf(others)
	if m.deviation < 0.05 {
		return reward[i] - m.mean
	}
	return (reward[i] - m.mean) / m.deviation
}

func eight(*rand.Rand) int { return 8 }

var layouts = []layout{
	{"grpo", binary, standardised, nil, eight, 8},
	{"bimodal", func(r *rand.Rand, p float64, _ int) (float64, float64) {
		x, acc := binary(r, p, 0)
		return 0.8*x + 0.1 + 0.02*r.NormFloat64(), acc
	}, standardised, nil, eight, 8},
	{"unequal groups", binary, standardised, nil, func(r *rand.Rand) int { return 2 + r.IntN(15) }, 10},
	{"unequal groups by prompt", binary, centredOnly, func(_ *rand.Rand, row *reader.Row) { row.Group = reader.Unknown }, func(r *rand.Rand) int { return 2 + r.IntN(15) }, 10},
	{"dr_grpo", binary, centredOnly, nil, func(*rand.Rand) int { return 32 }, 4},
	{"dr_grpo of scores", func(r *rand.Rand, p float64, _ int) (float64, float64) {
		return math.Pow(r.Float64(), 1+9*p), math.NaN()
	}, centredOnly, nil, eight, 8},
	{"leave one out", binary, leaveOneOut, nil, eight, 8},
	{"leave one out, guarded", func(r *rand.Rand, _ float64, _ int) (float64, float64) { return r.NormFloat64(), math.NaN() }, guarded, nil, eight, 8},
	{"per token", binary, standardised, func(r *rand.Rand, row *reader.Row) {
		for i := range row.Advantage {
			row.Advantage[i] += 0.5 * r.NormFloat64()
		}
	}, eight, 8},
	{"length penalty", func(r *rand.Rand, p float64, length int) (float64, float64) {
		x, acc := binary(r, p, length)
		return x - 0.002*float64(length), acc
	}, standardised, nil, eight, 8},
	{"penalty outside the reward", binary, func(reward []float64, i int, r *rand.Rand) float64 {
		return standardised(reward, i, r) - 0.3*r.Float64()
	}, nil, eight, 8},
	{"one group", func(r *rand.Rand, _ float64, _ int) (float64, float64) { return r.Float64(), math.NaN() }, standardised, nil, func(*rand.Rand) int { return 16 }, 1},
	{"overlong filter", binary, standardised, func(r *rand.Rand, row *reader.Row) {
		row.Finish = "stop"
		if r.IntN(8) == 0 {
			row.Finish = "length"
			clear(row.Advantage)
		}
	}, eight, 8},
	{"rewards after normalisation", binary, standardised, func(_ *rand.Rand, row *reader.Row) { row.Reward = row.Advantage[0] }, eight, 8},
	{"batch baseline", binary, func(reward []float64, i int, _ *rand.Rand) float64 { return (reward[i] - 0.5) / 0.5 }, nil, eight, 8},
	{"environments", binary, standardised, func(r *rand.Rand, row *reader.Row) { row.Env = fmt.Sprint("env", row.Group%3) }, eight, 9},
	{"no groups", func(r *rand.Rand, _ float64, _ int) (float64, float64) { return r.Float64(), math.NaN() }, func(reward []float64, i int, r *rand.Rand) float64 { return r.NormFloat64() }, func(r *rand.Rand, row *reader.Row) {
		row.Group, row.Prompt, row.Reward = reader.Unknown, nil, math.NaN()
	}, eight, 8},
	{"reference and entropy", binary, standardised, func(r *rand.Rand, row *reader.Row) {
		for _, old := range row.Old {
			row.Ref = append(row.Ref, old+0.1*r.NormFloat64())
			row.New = append(row.New, old)
			row.Entropy = append(row.Entropy, r.Float64())
			row.Masked = append(row.Masked, r.IntN(50) == 0)
		}
	}, eight, 8},
}

// dump is a healthy dump of the given number of steps.
func (l layout) dump(seed uint64, steps int) (rows []*reader.Row) {
	r := rand.New(rand.NewPCG(seed, 48))
	w := world{r, 0.03}
	sigma := 0.01 + 0.03*r.Float64()
	for step := range steps {
		w.sigma = sigma
		for group := range l.groups {
			n, p := l.sizes(r), 0.2+0.6*r.Float64()
			prompt := []int32{1, int32(step), int32(group), 7}
			var rewards []float64
			var list []*reader.Row
			for range n {
				row := w.row(30 + r.IntN(50))
				row.Step, row.Group, row.Prompt = 1+step, group, prompt
				row.Score, row.Lag = math.NaN(), math.NaN()
				row.Reward, row.Acc = l.rewards(r, p, len(row.Mask))
				rewards, list = append(rewards, row.Reward), append(list, row)
			}
			for i, row := range list {
				a := l.advantage(rewards, i, r)
				for range row.Mask {
					row.Advantage = append(row.Advantage, a)
				}
				if l.record != nil {
					l.record(r, row)
				}
			}
			rows = append(rows, list...)
		}
	}
	return rows
}

// judgedOn are the findings of the collectors on rows.
func judgedOn(o Options, rows []*reader.Row) (r Report) {
	list := newCollectors()
	for _, c := range list {
		for _, row := range rows {
			c.add(row)
		}
	}
	r.collect(list, &o)
	return r
}

// Of fresh healthy dumps none is called unable to learn, and at most 2 % have any warning.
func TestHealthyLayoutsRaiseNoFinding(t *testing.T) {
	n := 4
	if *exhaustive {
		n = 200
	}
	for _, l := range layouts {
		for _, steps := range []int{1, 6} {
			alarms := map[string]int{}
			for seed := range n {
				r := judgedOn(Options{}, l.dump(uint64(seed), steps))
				for _, f := range r.about(Data, Mismatch, Learning, Configuration) {
					if f.Level == Fault {
						t.Errorf("%s, %d steps, seed %d: %s", l.name, steps, seed, f)
					}
					alarms[f.ID]++
				}
			}
			for id, k := range alarms {
				if k > max(1, n/50) {
					t.Errorf("%s, %d steps: %s in %d of %d", l.name, steps, id, k, n)
				}
			}
		}
	}
}

// A series whose gap has no trend is called growing in at most 2 of 100, and one that grows by the growth that is said to be
// detectable in most.
func TestGrowthFalseAlarms(t *testing.T) {
	n, lengths := 150, []int{5, 8, 20, 50}
	if *exhaustive {
		n, lengths = 2000, append(lengths, 300)
	}
	r := rand.New(rand.NewPCG(48, 11))
	for _, steps := range lengths {
		for _, scatter := range []float64{0.05, 0.3, 1} {
			alarms, found := 0, 0
			for range n {
				var still, grows gapGrowth
				for s := range steps {
					x := 0.02 * math.Exp(scatter*r.NormFloat64())
					still.steps.at(s).join(stepSum{n: 1000, sum: 1000 * x})
					x *= math.Exp(12 * max(scatter, 0.1) * float64(s) / float64(steps-1))
					grows.steps.at(s).join(stepSum{n: 1000, sum: 1000 * x})
				}
				for _, c := range []struct {
					*gapGrowth
					count *int
				}{{&still, &alarms}, {&grows, &found}} {
					if f, _ := c.findings(nil); f[0].ID == "gap-grows" {
						*c.count++
					}
				}
			}
			if float64(alarms) > 0.02*float64(n) {
				t.Errorf("%d steps, scatter %v: %d of %d healthy series are called growing", steps, scatter, alarms, n)
			}
			if found < n*8/10 {
				t.Errorf("%d steps, scatter %v: %d of %d growing series are found", steps, scatter, found, n)
			}
		}
	}
}

// The onset of growth, and of a jump, is the step where it begins.
func TestGrowthOnset(t *testing.T) {
	for _, c := range []struct {
		name string
		log  func(s int) float64
		says string
	}{
		{"from the first", func(s int) float64 { return 0.2 * float64(s) }, "from step 1 on"},
		{"later", func(s int) float64 { return 0.5 * float64(max(0, s-6)) }, "from step 7 on"},
		{"jump", func(s int) float64 { return map[bool]float64{true: 2}[s >= 10] }, "from step 10 on"},
	} {
		var g gapGrowth
		r := rand.New(rand.NewPCG(1, 1))
		for s := range 20 {
			g.steps.at(s).join(stepSum{n: 1000, sum: 20 * math.Exp(c.log(s)+0.02*r.NormFloat64())})
		}
		f, _ := g.findings(nil)
		if f[0].ID != "gap-grows" || !strings.Contains(f[0].Text, c.says) {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// Faults of learning are found whatever the layout that they are in.
func TestLearningFaults(t *testing.T) {
	setAll := func(row *reader.Row, a float64) {
		for i := range row.Advantage {
			row.Advantage[i] = a
		}
	}
	for _, c := range []struct {
		name, layout, id string
		change           func(rows []*reader.Row)
	}{
		{"all zero", "grpo", "advantages-zero", func(rows []*reader.Row) {
			for _, row := range rows {
				setAll(row, 0)
			}
		}},
		{"spike", "unequal groups by prompt", "advantage-spike", func(rows []*reader.Row) {
			setAll(rows[slices.IndexFunc(rows, func(r *reader.Row) bool { return r.Advantage[0] > 0.1 })], 1e4)
		}},
		{"spike of a token", "per token", "advantage-spike", func(rows []*reader.Row) {
			rows[slices.IndexFunc(rows, func(r *reader.Row) bool { return abs(r.Advantage[0]) > 0.1 })].Advantage[3] = -5e3
		}},
		{"spike without rewards", "no groups", "advantage-spike", func(rows []*reader.Row) { setAll(rows[3], -5e3) }},
		{"shuffled", "grpo", "advantage-order", func(rows []*reader.Row) {
			first := rows[0].Reward
			for i := range rows[1:] {
				rows[i].Reward = rows[i+1].Reward
			}
			rows[len(rows)-1].Reward = first
		}},
		{"turned", "dr_grpo", "advantage-order", func(rows []*reader.Row) {
			for _, row := range rows {
				setAll(row, -row.Advantage[0])
			}
		}},
		{"stride", "unequal groups", "groups-by-stride", func(rows []*reader.Row) {
			size := map[int]int{}
			for _, row := range rows {
				size[row.Group]++
			}
			most := 0
			for _, n := range size {
				most = max(most, n)
			}
			for part := range slices.Chunk(rows, most) {
				var rewards []float64
				for _, row := range part {
					rewards = append(rewards, row.Reward)
				}
				for i, row := range part {
					setAll(row, standardised(rewards, i, nil))
				}
			}
		}},
		{"nothing right", "length penalty", "no-right-answer", func(rows []*reader.Row) {
			for _, row := range rows {
				row.Acc = 0
			}
		}},
		{"cut", "overlong filter", "length-cap", func(rows []*reader.Row) {
			for i, row := range rows {
				if i%4 > 0 {
					row.Finish = "length"
				}
			}
		}},
		{"reference", "reference and entropy", "reference-kl-outlier", func(rows []*reader.Row) { rows[4].Ref[5] = rows[4].Old[5] + 14 }},
		{"masked", "reference and entropy", "own-mask", func(rows []*reader.Row) {
			for _, row := range rows {
				for i := range row.Masked {
					row.Masked[i] = i%2 == 0
				}
			}
		}},
		{"teacher copied from the learner", "grpo", "teacher-silent", func(rows []*reader.Row) {
			for _, row := range rows {
				row.Teacher = slices.Clone(row.Old)
			}
		}},
		{"teacher dropped", "dr_grpo", "teacher-silent", func(rows []*reader.Row) {
			for _, row := range rows {
				row.Teacher = make([]float64, len(row.Old))
			}
		}},
		{"certain", "grpo", "entropy-collapse", func(rows []*reader.Row) {
			tokens(rows, func(_ int, roll, old *float64) { *roll, *old = *roll*1e-6, *old*1e-6 })
		}},
	} {
		l := layouts[slices.IndexFunc(layouts, func(l layout) bool { return l.name == c.layout })]
		for seed := range uint64(3) {
			rows := l.dump(seed, 1)
			c.change(rows)
			r := judgedOn(Options{}, rows)
			if !slices.ContainsFunc(r.about(Learning), func(f Finding) bool { return f.ID == c.id }) {
				t.Errorf("%s, seed %d: %s is not among %v", c.name, seed, c.id, r.Findings)
			}
		}
	}
}

// What is kept of responses stays bounded, and nearly all of its groups are whole.
func TestManyResponses(t *testing.T) {
	const most, n = 1000, 20_000
	for _, c := range []struct {
		name  string
		group func(i int) uint64
		size  int // of most groups, 0 for any
	}{
		{"no groups", func(int) uint64 { return 0 }, 0},
		{"one group", func(int) uint64 { return 7 }, 0},
		{"groups of eight", func(i int) uint64 { return hashIDs(hashStart, []int32{int32(i / 8)}) }, 8},
	} {
		var a answers
		for i := range n {
			a.keep(answer{number: i + 1, group: c.group(i), reward: float64(i % 2)}, most)
		}
		if len(a.list) > most || len(a.list) < most/2 || !slices.IsSortedFunc(a.list, func(x, y answer) int { return x.number - y.number }) {
			t.Errorf("%s: %d of %d responses are kept", c.name, len(a.list), n)
		}
		if c.size > 0 && len(a.groups()) != (len(a.list)+c.size-1)/c.size {
			t.Errorf("%s: %d groups of %d responses", c.name, len(a.groups()), len(a.list))
		}
	}
}

// Sums by step are bounded, and no token is lost, whatever the distance of the steps.
func TestManySteps(t *testing.T) {
	for _, apart := range []int{1, 1 << 10} {
		var b bySteps
		const n = mostSteps + 100
		for i := range n {
			b.at(i * apart).join(stepSum{n: 1})
		}
		steps, sums := b.inOrder()
		all := 0
		for _, s := range sums {
			all += s.n
		}
		if all != n || len(sums) > mostSteps || steps[0] != 0 || !slices.IsSorted(steps) {
			t.Errorf("%d apart: %d sums of %d tokens, %d were there", apart, len(sums), all, n)
		}
	}
}

// A teacher that ends its responses with another id is named, whether it read all responses or some, and whatever else it finds unlikely; one that
// differs, would go on in half of the responses, or doubts tokens anywhere is not. Cut responses have no end.
func TestTeacherStop(t *testing.T) {
	for _, c := range []struct {
		name                         string
		ends, others, guided, finish float64 // shares: of ends and of other tokens that the teacher doubts, of responses that it read, and that finished
		want                         bool
	}{
		{"other id", 1, 0.01, 1, 1, true}, {"other id, weak learner", 1, 0.08, 1, 0.7, true}, {"other id, some guided", 0.98, 0.02, 0.3, 0.9, true},
		{"same id", 0, 0.02, 1, 1, false}, {"would go on in half", 0.5, 0.02, 1, 1, false}, {"another language", 0.95, 0.6, 1, 1, false}, {"all cut", 1, 0.02, 1, 0, false},
	} {
		for _, finish := range []string{"stop", ""} {
			r := rand.New(rand.NewPCG(51, uint64(len(c.name))))
			var check teacherEnds
			for range 200 {
				row := world{r, 0.02}.row(5 + r.IntN(200))
				row.Finish = finish
				if r.Float64() >= c.finish {
					row.Finish = "length"
				}
				guided, n := r.Float64() < c.guided, len(row.Old)
				for i, old := range row.Old {
					doubted := c.others
					if i == n-1 && row.Finish != "length" {
						doubted = c.ends
					}
					switch teacher := old + 0.5*r.NormFloat64(); {
					case !guided:
						teacher = old
						fallthrough
					case r.Float64() >= doubted:
						row.Teacher = append(row.Teacher, min(teacher, 0))
					default:
						row.Teacher = append(row.Teacher, old-5-9*r.Float64())
					}
				}
				check.add(row)
			}
			found, looked := check.findings(nil)
			if named := len(found) == 1 && found[0].ID == "teacher-stop" && found[0].Level == Fault; named != c.want || !looked[0].there {
				t.Errorf("%s, finish %q: %v", c.name, finish, found)
			}
		}
	}
}
