package diagnose

import (
	"container/heap"
	"math"
	"math/rand/v2"
	"slices"

	"driftlab/experiments/diagnose/reader"
)

// sampled is how many tokens of whole responses are kept for what needs an order.
const sampled = 200_000

// kept is a response of the sample: its trained tokens with finite log-probs.
type kept struct {
	roll, old []float64
	// now, advantage, ref (the reference's log-probs) and entropy are of the same tokens, nil if they were not recorded.
	now, advantage, ref, entropy []float64
	// control are the columns of controls, nil if they were not recorded.
	control [len(controls)][]float64

	reward, acc float64 // NaN if they were not recorded
	finish      string  // empty if it was not recorded
	group       int     // of the prompt, reader.Unknown if it was not recorded
	// behind are how many updates the weights that sampled the tokens are behind the learner's, nil if unknown.
	behind []int32

	id        []int32 // nil if the dump has none
	again     []uint8 // how the id has occurred before, nil if there are no ids
	flipped   []bool  // other experts computed it, in any layer; nil unless both engines' routes were recorded
	third     []uint8
	turn      []int32   // runs of trained tokens, from 0
	prompt    uint64    // of its tokens
	first     bool      // the trained tokens begin where the response does, without a gap
	prompted  bool      // there is one
	mass      []float64 // that sampling kept, nil if it was not recorded
	env, file string
	worker    string
	step, lag int // lag is what lagOf says
	number    int // in the order of reading
	lead      int // how many tokens the prompt has
	stands    alignment
	chance    uint64 // the responses with the lowest are kept
}

// reservoir keeps whole responses, each by a seeded chance of its own: which ones
// depends on their number alone.
type reservoir struct {
	rows   []*kept // a heap, the highest chance first
	tokens int
	r      *rand.Rand
	number int
}

func newReservoir() *reservoir { return &reservoir{r: rand.New(rand.NewPCG(1, 16))} }

func (s *reservoir) add(v *view, file string) {
	s.number++
	k := &kept{number: s.number, chance: s.r.Uint64(), env: v.row.Env, file: file, step: v.row.Step, lag: lagOf(v.row), worker: v.row.Worker, prompted: len(v.row.Prompt) > 0, lead: len(v.row.Prompt), stands: v.alignment(), reward: v.row.Reward, acc: v.row.Acc, finish: v.row.Finish, group: v.row.Group}
	n := min(len(v.ok), sampled)
	if n == 0 || s.tokens >= sampled && len(s.rows) > 0 && k.chance > s.rows[0].chance {
		return
	}
	k.roll, k.old = slices.Clone(v.roll[:n]), slices.Clone(v.old[:n])
	k.prompt, k.first = hashIDs(hashStart, v.row.Prompt), v.ok[n-1] == n-1 && v.row.Prompt != nil
	k.now, k.advantage = gather(v.row.New, v.ok[:n]), gather(v.row.Advantage, v.ok[:n])
	k.ref, k.entropy = gather(v.row.Ref, v.ok[:n]), gather(v.row.Entropy, v.ok[:n])
	k.mass = gather(v.row.KeptMass, v.ok[:n])
	for i, c := range controls {
		if column := c.of(v.row); column != nil {
			for _, at := range v.ok[:n] {
				k.control[i] = append(k.control[i], column[at])
			}
		}
	}
	if learner := learnerOf(v.row); v.row.Version != nil && learner >= 0 {
		for _, at := range v.ok[:n] {
			k.behind = append(k.behind, int32(max(0, learner-int(v.row.Version[at]))))
		}
	}
	turn, last := int32(-1), -2
	for i, at := range v.at { // as many turns as runs, whatever is finite
		if at != last+1 {
			turn++
		}
		if last = at; len(k.turn) < n && v.ok[len(k.turn)] == v.at[i] {
			k.turn = append(k.turn, turn)
		}
	}
	k.again = occurrences(v.row.Prompt, v.row.Token, v.ok[:n])
	for i, at := range v.ok[:n] {
		if v.row.Token != nil {
			k.id = append(k.id, v.row.Token[at])
		}
		if v.row.Flips != nil {
			k.flipped = append(k.flipped, v.row.Flipped(at))
		}
		k.third = append(k.third, uint8(3*i/n))
	}
	heap.Push(s, k)
	s.tokens += n
	for s.tokens > sampled && len(s.rows) > 1 {
		s.tokens -= len(heap.Pop(s).(*kept).roll)
	}
}

// gather is a column at these places, 0 where it is not finite; nil for no column.
func gather(column []float64, at []int) []float64 {
	if column == nil {
		return nil
	}
	list := make([]float64, len(at))
	for i, n := range at {
		if isFinite(column[n]) {
			list[i] = column[n]
		}
	}
	return list
}

func (s *reservoir) inOrder() []*kept {
	rows := slices.Clone(s.rows)
	slices.SortFunc(rows, func(a, b *kept) int { return a.number - b.number })
	return rows
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (s *reservoir) Len() int           { return len(s.rows) }
func (s *reservoir) Less(i, j int) bool { return s.rows[i].chance > s.rows[j].chance }
func (s *reservoir) Swap(i, j int)      { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] }
func (s *reservoir) Push(k any)         { s.rows = append(s.rows, k.(*kept)) }
func (s *reservoir) Pop() any {
	last := s.rows[len(s.rows)-1]
	s.rows = s.rows[:len(s.rows)-1]
	return last
}

// byScope are the parts of a sample that lie in each scope.
func byScope(rows []*kept) map[scope][]*kept {
	parts := map[scope][]*kept{everything: rows}
	for _, k := range rows {
		for _, s := range []scope{{"env", k.env}, {"file", k.file}} {
			parts[s] = append(parts[s], k)
		}
		for third := range uint8(3) {
			from, _ := slices.BinarySearch(k.third, third)
			to, _ := slices.BinarySearch(k.third, third+1)
			if s := (scope{"third", string(rune('1' + third))}); from < to {
				parts[s] = append(parts[s], &kept{roll: k.roll[from:to], old: k.old[from:to], number: k.number})
			}
		}
	}
	return parts
}

const hashStart = 14695981039346656037

// hashIDs is FNV-1a of tokens, going on from h.
func hashIDs(h uint64, ids []int32) uint64 {
	for _, id := range ids {
		for shift := 0; shift < 32; shift += 8 {
			h = (h ^ uint64(uint32(id)>>shift&255)) * 1099511628211
		}
	}
	return h
}

// view is a response, or a part of it, as the checks see it: its trained tokens.
type view struct {
	row  *reader.Row
	file string
	// at are the places of the trained tokens in the row, all of them; ok are
	// those of them whose two log-probs are finite, and of a size that log-probs have, with their values.
	at, ok    []int
	roll, old []float64
	// ratio is ρ, of d as far as the overflow.
	ratio []float64
	// whole says that it is the whole response, in which neighbours are neighbours.
	whole bool
	// stands is how the columns stand to each other, once that has been worked out.
	stands alignment
	placed bool
}

// fill makes the view that of a row with both columns.
func (v *view) fill(row *reader.Row, file string) {
	v.file = file
	v.row, v.whole, v.placed = row, true, false
	v.at, v.ok, v.roll, v.old, v.ratio = v.at[:0], v.ok[:0], v.roll[:0], v.old[:0], v.ratio[:0]
	for i, m := range row.Mask {
		if !m {
			continue
		}
		v.at = append(v.at, i)
		if roll, old := row.Roll[i], row.Old[i]; isLogp(roll) && isLogp(old) {
			v.ok, v.roll, v.old = append(v.ok, i), append(v.roll, roll), append(v.old, old)
			v.ratio = append(v.ratio, ratioOf(old-roll))
		}
	}
}

func (v *view) third(k int) view {
	n := len(v.at)
	from, to := k*n/3, (k+1)*n/3
	part := view{row: v.row, file: v.file, at: v.at[from:to]}
	if from < to {
		first, _ := slices.BinarySearch(v.ok, v.at[from])
		last, _ := slices.BinarySearch(v.ok, v.at[to-1]+1)
		part.ok, part.roll, part.old, part.ratio = v.ok[first:last], v.roll[first:last], v.old[first:last], v.ratio[first:last]
	}
	return part
}

func isFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// scope is what a check runs over.
type scope struct{ kind, name string }

// everything is all that was read.
var everything = scope{kind: "all"}

// String is how reports write a scope: all, env:math, file:a.jsonl, third:1.
func (s scope) String() string {
	if s == everything {
		return s.kind
	}
	return s.kind + ":" + s.name
}
