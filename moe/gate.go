package moe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// MaxExperts is the largest number of experts; ids are bytes and 255 is NoRoute.
const MaxExperts = 255

// NoRoute in place of an expert id means that the decision was not recorded.
const NoRoute = 255

// Order says on which side of the top-k the softmax stands.
type Order uint8

const (
	// TopKThenSoftmax takes the softmax over the k chosen logits. The gates sum
	// to one. Mixtral (arXiv:2401.04088).
	TopKThenSoftmax Order = iota
	// SoftmaxThenTopK takes the softmax over all logits and keeps k of its
	// entries. The gates sum to less than one, unless renormalised. Switch
	// Transformer (arXiv:2101.03961), DeepSeekMoE (arXiv:2401.06066).
	SoftmaxThenTopK
)

var orderNames = [...]string{"topk-then-softmax", "softmax-then-topk"}

// String returns the name recipes use.
func (o Order) String() string {
	if int(o) < len(orderNames) {
		return orderNames[o]
	}
	return fmt.Sprintf("Order(%d)", uint8(o))
}

// ParseOrder is the inverse of Order.String. The empty name is TopKThenSoftmax.
func ParseOrder(name string) (Order, error) {
	order := slices.Index(orderNames[:], cmp.Or(name, orderNames[TopKThenSoftmax]))
	if order < 0 {
		return 0, fmt.Errorf("moe: unknown gate order %q: use %v or %v", name, TopKThenSoftmax, SoftmaxThenTopK)
	}
	return Order(order), nil
}

// Gate turns router logits into expert ids and gate weights. Rows are tokens;
// logits are [rows, Experts], ids and weights are [rows, TopK].
//
// With s the logits of a token and I its chosen experts:
//
//	TopKThenSoftmax:                w_j = exp(s_j) / Σ_{l∈I} exp(s_l)
//	SoftmaxThenTopK:                w_j = exp(s_j) / Σ_{all l} exp(s_l)
//	SoftmaxThenTopK, Renormalise:   the same number as TopKThenSoftmax, and
//	                                computed as such: the full sum cancels
//
// A NaN logit ranks below every other and makes each gate whose sum it enters
// NaN; so does +Inf, and a sum all of whose logits are -Inf. Nothing panics on
// values; shapes that do not fit do.
type Gate struct {
	// Experts is the number of experts, 1 to MaxExperts.
	Experts int
	// TopK is the number of experts each token visits, 1 to Experts.
	TopK int
	// Order says whether the softmax sees the chosen logits or all of them.
	Order Order
	// Renormalise divides the gates of SoftmaxThenTopK by their sum.
	Renormalise bool
}

// overChosen reports whether the softmax runs over the chosen experts alone.
func (g Gate) overChosen() bool { return g.Order == TopKThenSoftmax || g.Renormalise }

// check panics unless the slices have the shapes of rows tokens. A nil slice is
// not an argument of the caller.
func (g Gate) check(what string, rows int, ids []uint8, weights, logits []float32) {
	if g.Experts < 1 || g.Experts > MaxExperts || g.TopK < 1 || g.TopK > g.Experts {
		panic(fmt.Sprintf("moe: %s with top %d of %d experts", what, g.TopK, g.Experts))
	}
	if len(ids) != rows*g.TopK || len(weights) != rows*g.TopK || len(logits) != rows*g.Experts {
		panic(fmt.Sprintf("moe: %s of %d rows: ids %d and weights %d, want [%d, %d]; logits %d, want [%d, %d]",
			what, rows, len(ids), len(weights), rows, g.TopK, len(logits), rows, g.Experts))
	}
}

// Select chooses the TopK experts of each row and computes their gates. Experts
// are ranked by logit + bias, descending; equal ones by id, ascending. ids[r, 0]
// is the first choice. The bias, [Experts] or nil, enters the ranking and not
// the gates (loss-free balancing, arXiv:2408.15664, here on the logits).
func (g Gate) Select(ids []uint8, weights, logits, bias []float32, rows int) {
	g.check("Select", rows, ids, weights, logits)
	g.checkBias(bias)
	var keys [MaxExperts + 1]float32
	for r := range rows {
		g.choose(ids[r*g.TopK:(r+1)*g.TopK], keys[:g.TopK], logits[r*g.Experts:(r+1)*g.Experts], bias)
	}
	g.weigh(weights, logits, ids, rows)
}

// Replay computes the gates of given experts from the current logits, so that
// a recorded decision is taken again while gradients still reach the router.
// ids are as Select or Routes gave them. For the ids that Select would choose
// the weights are bit-identical to Select's.
func (g Gate) Replay(weights, logits []float32, ids []uint8, rows int) {
	g.check("Replay", rows, ids, weights, logits)
	for i, id := range ids {
		if int(id) >= g.Experts {
			panic(fmt.Sprintf("moe: Replay of expert %d at row %d, there are %d", id, i/g.TopK, g.Experts))
		}
	}
	g.weigh(weights, logits, ids, rows)
}

// Fill replays the rows whose experts are given and selects for those whose
// first id is NoRoute, writing the choice to ids: replay of a recording with
// holes, as left by a prefix cache or a prompt that was not recorded.
func (g Gate) Fill(ids []uint8, weights, logits, bias []float32, rows int) {
	g.check("Fill", rows, ids, weights, logits)
	g.checkBias(bias)
	var keys [MaxExperts + 1]float32
	for r := range rows {
		row := ids[r*g.TopK : (r+1)*g.TopK]
		if row[0] == NoRoute {
			g.choose(row, keys[:g.TopK], logits[r*g.Experts:(r+1)*g.Experts], bias)
		}
	}
	g.Replay(weights, logits, ids, rows)
}

func (g Gate) checkBias(bias []float32) {
	if bias != nil && len(bias) != g.Experts {
		panic(fmt.Sprintf("moe: router bias has %d entries for %d experts", len(bias), g.Experts))
	}
}

// choose writes the ids of the len(ids) largest keys of a row, largest first, and these
// keys, which are as many.
func (g Gate) choose(ids []uint8, keys, logits, bias []float32) {
	if len(ids) == 2 {
		chooseTwo((*[2]uint8)(ids), (*[2]float32)(keys), logits, bias)
	} else {
		insert(ids, keys, logits, bias)
	}
}

// fewExperts is how many it takes until most are seldom among the two best so far.
const fewExperts = 16

// chooseTwo is choose for two. Ranks order as the keys do, and of equal ones the lower id
// first. A branch for each of a few keys is unpredictable, so they have none;
// of many keys, most stay below the second.
func chooseTwo(ids *[2]uint8, keys *[2]float32, logits, bias []float32) {
	if bias != nil {
		var sums [MaxExperts]float32
		for e, b := range bias {
			sums[e] = logits[e] + b
		}
		logits = sums[:len(bias)]
	}
	first, second := int64(belowRanks), int64(belowRanks)
	few := min(len(logits), fewExperts)
	for e, key := range logits[:few] {
		first, second = twoLargest(first, second, int64(orderOf(key))<<8|int64(MaxExperts-e))
	}
	ofRank := func(rank int64) int { return MaxExperts - int(rank&MaxExperts) }
	for e := few; e < len(logits); e++ {
		least := logits[ofRank(second)]
		for e < len(logits) && logits[e] <= least {
			e++
		}
		if e < len(logits) {
			first, second = twoLargest(first, second, int64(orderOf(logits[e]))<<8|int64(MaxExperts-e))
		}
	}
	for i, rank := range [2]int64{first, second} {
		e := ofRank(rank)
		ids[i], keys[i] = uint8(e), logits[e]
	}
}

// belowRanks is less than the rank of any key, and no difference to one overflows.
const belowRanks = math.MinInt64 / 4

// twoLargest returns the two largest of first >= second and rank. The compiler makes
// branches of the built-in max and min in a loop, so the sign of a difference selects.
func twoLargest(first, second, rank int64) (int64, int64) {
	below := first - rank
	below &= below >> 63 // 0 unless first < rank
	first, rank = first-below, rank+below
	below = second - rank
	return first, second - below&(below>>63)
}

// orderOf is a number that is larger for a larger x, the same for either zero, and the
// least for a NaN.
func orderOf(x float32) int32 {
	if x != x {
		return math.MinInt32
	}
	b := int32(math.Float32bits(x + 0)) // -0 becomes +0
	return b ^ int32(uint32(b>>31)>>1)
}

// insert is choose by insertion: the lists are short.
func insert(ids []uint8, keys, logits, bias []float32) {
	n := 0
	for e, key := range logits {
		if bias != nil {
			key += bias[e]
		}
		if n == len(ids) && !ranksAbove(key, keys[n-1]) {
			continue
		}
		if n < len(ids) {
			n++
		}
		at := n - 1
		for at > 0 && ranksAbove(key, keys[at-1]) {
			keys[at], ids[at] = keys[at-1], ids[at-1]
			at--
		}
		keys[at], ids[at] = key, uint8(e)
	}
}

// ranksAbove is a > b with NaN below everything. Equal keys do not rank above
// each other, which leaves the lower id first.
func ranksAbove(a, b float32) bool { return a > b || (b != b && a == a) }

func (g Gate) weigh(weights, logits []float32, ids []uint8, rows int) {
	var picked [MaxExperts]float32
	var probs [MaxExperts]float64
	for r := range rows {
		row, w := logits[r*g.Experts:(r+1)*g.Experts], weights[r*g.TopK:(r+1)*g.TopK]
		chosen := ids[r*g.TopK : (r+1)*g.TopK]
		if g.overChosen() {
			for j, id := range chosen {
				picked[j] = row[id]
			}
			softmax(probs[:g.TopK], picked[:g.TopK])
			for j := range w {
				w[j] = float32(probs[j])
			}
			continue
		}
		softmax(probs[:g.Experts], row)
		for j, id := range chosen {
			w[j] = float32(probs[id])
		}
	}
}

// Grad writes d loss/d logits, [rows, Experts], given d loss/d weights, [rows,
// TopK], for the gates of either Select or Replay: the choice of experts is a
// constant. It overwrites dlogits. With w the gates and I the chosen experts:
//
//	softmax over the chosen:  ds_j = w_j (dw_j - Σ_{l∈I} w_l dw_l), 0 outside I
//	softmax over all:         ds_e = p_e ([e∈I] dw_e - Σ_{l∈I} w_l dw_l)
func (g Gate) Grad(dlogits, dweights, weights, logits []float32, ids []uint8, rows int) {
	g.check("Grad", rows, ids, weights, logits)
	if len(dlogits) != len(logits) || len(dweights) != len(weights) {
		panic(fmt.Sprintf("moe: Grad of %d rows: dlogits %d for logits %d, dweights %d for weights %d",
			rows, len(dlogits), len(logits), len(dweights), len(weights)))
	}
	var probs [MaxExperts]float64
	for r := range rows {
		ds, row := dlogits[r*g.Experts:(r+1)*g.Experts], logits[r*g.Experts:(r+1)*g.Experts]
		chosen := ids[r*g.TopK : (r+1)*g.TopK]
		w, dw := weights[r*g.TopK:(r+1)*g.TopK], dweights[r*g.TopK:(r+1)*g.TopK]
		var dot float64
		for j := range w {
			dot += float64(float64(w[j]) * float64(dw[j]))
		}
		if g.overChosen() {
			clear(ds)
		} else {
			softmax(probs[:g.Experts], row)
			for e := range ds {
				ds[e] = float32(-probs[e] * dot)
			}
		}
		for j, id := range chosen {
			ds[id] = float32(float64(w[j]) * (float64(dw[j]) - dot))
		}
	}
}
