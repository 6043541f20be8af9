package rollout_test

import (
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/engine/rollout"
	"driftlab/model"
)

// policies are retentions that give much up within a few tokens.
var policies = []rollout.Retention{
	{Policy: rollout.Window, Keep: 0.5, Sinks: 2, Recent: 3},
	{Policy: rollout.Window, Budget: 6, Recent: 1},
	{Policy: rollout.HeavyHitter, Keep: 0.4, Sinks: 1, Recent: 2},
	{Policy: rollout.HeavyHitter, Budget: 4, Recent: 1},
}

// compressed runs a fresh engine with a compressed cache once.
func compressed(p *model.Params, n engine.Numerics, r rollout.Retention, slots, workers int, list []rollout.Request, s rollout.Sampling) *column.Sampled {
	e := rollout.New(p.Config, n, slots, workers)
	defer e.Close()
	e.SetRetention(r)
	e.Publish(p, 3)
	var b column.Sampled
	e.Generate(&b, list, s)
	return &b
}

// seen lists the positions in a plane of a token.
func seen(b *column.Sampled, token, plane int) (positions []int) {
	for w, word := range b.KVKept[(token*b.KVPlanes+plane)*b.KVWords:][:b.KVWords] {
		for ; word != 0; word &= word - 1 {
			positions = append(positions, 64*w+bits.TrailingZeros64(word))
		}
	}
	return positions
}

// A cache that keeps everything changes no bit, whatever the policy, and what
// it records is everything.
func TestFullRetention(t *testing.T) {
	for i, m := range enginetest.Models(enginetest.Small) {
		list, n := requests(uint64(i), 12, m.Params.Config.Vocab), preset(t, []string{"fp32", "bf16", "fp32-batch-variant"}[i%3])
		want := generate(m.Params, n, 5, 1, list, plain)
		for _, policy := range []rollout.Policy{rollout.Window, rollout.HeavyHitter} {
			got := compressed(m.Params, n, rollout.Retention{Policy: policy, Keep: 1, Recent: 1}, 5, 1, list, plain)
			sameResponses(t, m.Name, want, got, nil)
			for i := range got.Len() {
				from, to := got.Span(i)
				for k := from; k < to; k++ {
					for plane := range got.KVPlanes {
						if held := len(seen(got, k, plane)); held != len(got.Prompt[i])+k-from {
							t.Fatalf("%s: token %d of response %d saw %d positions", m.Name, k-from, i, held)
						}
					}
				}
			}
		}
	}
}

// The window is the sinks and the newest positions; every policy holds the
// number of positions it may, the sinks and the newest among them, and never
// takes back what it gave up. Full attention reads the prompt.
func TestWhatIsRetained(t *testing.T) {
	m := enginetest.Named("moe-grouped-softmax-first")
	c := m.Params.Config
	for _, r := range policies {
		b := compressed(m.Params, preset(t, "fp32"), r, 4, 1, requests(2, 16, c.Vocab), plain)
		planes := 1
		if r.Policy == rollout.HeavyHitter {
			planes = c.Layers * c.KVHeads
		}
		if b.KVPlanes != planes || b.KVWords != engine.RetentionWords(c.Context) {
			t.Fatalf("%+v: %d planes of %d words", r, b.KVPlanes, b.KVWords)
		}
		differ := false
		for i := range b.Len() {
			from, to := b.Span(i)
			prompt := len(b.Prompt[i])
			for n := from; n < to; n++ {
				length := prompt + n - from
				held := r.Budget
				if held == 0 {
					held = (length*int(10*r.Keep) + 9) / 10 // ⌈Keep·length⌉
				}
				held = min(length, max(held, r.Sinks+r.Recent))
				if n == from {
					held = length
				}
				for plane := range planes {
					have := seen(b, n, plane)
					differ = differ || !slices.Equal(have, seen(b, n, 0))
					for _, p := range have {
						if n > from && p < length-1 && !slices.Contains(seen(b, n-1, plane), p) {
							t.Fatalf("%+v: position %d came back", r, p)
						}
					}
					for p := range length {
						if (p < r.Sinks || p >= length-r.Recent) && !slices.Contains(have, p) {
							t.Fatalf("%+v: position %d of %d is gone", r, p, length)
						}
					}
					if len(have) != held || r.Policy == rollout.Window && held > r.Sinks && have[r.Sinks] != length-held+r.Sinks {
						t.Fatalf("%+v: %v of %d positions, want %d", r, have, length, held)
					}
				}
			}
		}
		if differ != (r.Policy == rollout.HeavyHitter) {
			t.Errorf("%+v: planes differ: %t", r, differ)
		}
	}
}

// What goes is the position with the least attention so far, held against
// attention weights of the float64 reference.
func TestHeavyHittersAreTheReferences(t *testing.T) {
	m := enginetest.Named("dense-learned-grouped")
	c := m.Params.Config
	r := rollout.Retention{Policy: rollout.HeavyHitter, Budget: 5, Recent: 1}
	b := compressed(m.Params, preset(t, "fp32"), r, 4, 1, requests(6, 8, c.Vocab), plain)
	evictions := 0
	for i := range b.Len() {
		from, to := b.Span(i)
		prompt := len(b.Prompt[i])
		tokens := append(slices.Clone(b.Prompt[i]), b.Token[from:to]...)
		held := func(row, layer, head, position int) bool {
			return row < prompt || slices.Contains(seen(b, from+row-prompt+1, layer*c.KVHeads+head), position)
		}
		ref := reference.New(m.Params)
		ref.Held = held
		weights := map[[3]int][]float64{} // by row, layer and key head
		ref.Attended = func(row, layer, head int, w []float64) {
			at := [3]int{row, layer, head}
			if weights[at] == nil {
				weights[at] = make([]float64, len(w))
			}
			for j, x := range w {
				weights[at][j] += x
			}
		}
		ref.Forward(tokens[:len(tokens)-1], nil)
		for n := from + 1; n < to; n++ {
			row := prompt + n - from - 1
			for plane := range b.KVPlanes {
				layer, head := plane/c.KVHeads, plane%c.KVHeads
				mass := make([]float64, row)
				for earlier := range row {
					for j, x := range weights[[3]int{earlier, layer, head}] {
						mass[j] += x
					}
				}
				kept := seen(b, n, plane)
				for _, gone := range seen(b, n-1, plane) {
					if slices.Contains(kept, gone) {
						continue
					}
					evictions++
					for _, p := range kept {
						if p < row && mass[p] < mass[gone]-1e-4 {
							t.Fatalf("row %d, plane %d: position %d with attention %g went before %d with %g", row, plane, gone, mass[gone], p, mass[p])
						}
					}
				}
			}
		}
	}
	if evictions < 100 {
		t.Errorf("only %d positions went", evictions)
	}
}

// A compressed cache too makes a response depend on its request alone, read in
// chunks or whole.
func TestRetentionDependsOnTheRequestAlone(t *testing.T) {
	for i, r := range policies {
		p, n := enginetest.Models(enginetest.Small)[i].Params, preset(t, []string{"bf16", "fp8-kv8"}[i%2])
		list := requests(uint64(i), 24, p.Config.Vocab)
		want := compressed(p, n, r, 24, 1, list, plain)
		same := func(how string, got *column.Sampled) {
			sameResponses(t, how, want, got, nil)
			if !slices.Equal(want.KVKept, got.KVKept) {
				t.Errorf("%s: other positions are kept", how)
			}
		}
		for _, c := range []struct{ slots, workers int }{{1, 1}, {5, 2}} {
			same(fmt.Sprintf("%+v, %d slots, %d workers", r, c.slots, c.workers), compressed(p, n, r, c.slots, c.workers, list, plain))
		}
		e := rollout.New(p.Config, n, 5, 1)
		e.SetRetention(r)
		e.SetPrefill(rollout.Prefill{Chunk: 3, PrefixCache: r.Policy == rollout.Window})
		e.Publish(p, 3)
		var b column.Sampled
		e.Generate(&b, list, plain)
		same("in chunks", &b)
		e.SetRetention(rollout.Retention{})
		e.Generate(&b, list, plain)
		if b.KVKept != nil || slices.Equal(b.LogpRoll, want.LogpRoll) {
			t.Error("compression cannot be switched off, or does nothing")
		}
		e.Close()
	}
}

// Replies of tools are read with what is left, and give up nothing: read in
// chunks or whole they make the same responses, and a learner that replays the
// masks would find every row's.
func TestRetentionBesideTools(t *testing.T) {
	p := enginetest.Named("moe-grouped-softmax-first").Params
	list := withTool(requests(4, 24, p.Config.Vocab), echo{int32(p.Config.Vocab)})
	for _, r := range policies {
		want := compressed(p, preset(t, "bf16"), r, 24, 1, list, roomy)
		e := rollout.New(p.Config, preset(t, "bf16"), 7, 2)
		e.SetRetention(r)
		e.SetPrefill(rollout.Prefill{Chunk: 2})
		e.Publish(p, 3)
		var b column.Sampled
		e.Generate(&b, list, roomy)
		sameResponses(t, fmt.Sprintf("%+v in chunks", r), want, &b, nil)
		if !slices.Equal(want.KVKept, b.KVKept) {
			t.Errorf("%+v: chunks keep other positions", r)
		}
		e.Close()
		replies := 0
		for i := range b.Len() {
			from, to := b.Span(i)
			for n := from + 2; n < to; n++ {
				if b.Mask[n-1] {
					continue
				}
				replies++ // row n reads a tool's token: it sees what the row before saw, and itself
				if have, before := seen(&b, n, 0), seen(&b, n-1, 0); len(have) != len(before)+1 || !slices.Equal(have[:len(before)], before) {
					t.Fatalf("%+v: reading a reply leaves %v of %v", r, have, before)
				}
			}
		}
		if replies < 50 {
			t.Errorf("%+v: %d tokens of replies", r, replies)
		}
	}
}

// A compressed cache allocates nothing per token.
func TestRetentionAllocatesNothingPerToken(t *testing.T) {
	p := enginetest.Named("moe").Params
	for _, r := range policies[:3] {
		e := rollout.New(p.Config, preset(t, "bf16"), 8, 1)
		e.SetRetention(r)
		e.Publish(p, 0)
		list, s, counts := requests(11, 24, p.Config.Vocab), plain, map[int]float64{}
		var b column.Sampled
		for _, length := range []int{20, 5} {
			s.MaxTokens, s.Stop = length, -1
			e.Generate(&b, list, s)
			counts[length] = testing.AllocsPerRun(3, func() { e.Generate(&b, list, s) })
		}
		if counts[20] > counts[5] {
			t.Errorf("%+v: %v allocations for 20 tokens, %v for 5", r, counts[20], counts[5])
		}
		e.Close()
	}
}
