package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// ownDump is a dump that this program writes: a short run whose settings say what makes its gap.
type ownDump struct {
	name   string
	sets   []string
	causes []string // any of which may be named
	seed   int
}

// ownDumps are as many dumps as asked for, of every kind in turn: weights of every lag up to 64 updates, every number format, routers,
// formats of the KV cache, and a top-p that is recorded.
func ownDumps(n int) (list []ownDump) {
	var kinds []ownDump
	for i, k := range []int{0, 1, 2, 4, 8, 16, 32, 64} {
		for j, rate := range []string{"3e-4", "5e-4", "1.5e-3"} {
			schedule, causes := fmt.Sprintf("schedule={name: lag, k: %d}", k), []string{Staleness}
			if k == 0 {
				schedule, causes = "schedule={name: sync}", nil
			}
			kinds = append(kinds, ownDump{fmt.Sprintf("lag %d at %s", k, rate), []string{schedule,
				"learner.optimizer.lr=" + rate, fmt.Sprintf("steps=%d", max(8, k+8+20*((i+j)%3)))}, causes, 0})
		}
	}
	for _, format := range []string{"fp32-splitk4", "fp32-tp4", "tf32", "fp16", "fp16-tp2", "bf16", "bf16-splitk4", "bf16-tp4", "bf16-fp32-head", "bf16-fp32-router", "bf16-accumulate",
		"int8-w8a8", "fp8-w8a8", "fp8-block16", "fp8-tensor", "fp8-acc14", "fp8-kv8", "fp8-all", "fp4-w4a16", "fp4-mx", "fp4-all", "llama-q8_0", "llama-q4_0", "onnx-int8",
		"{base: fp32, kv_cache: fp8_e4m3}", "{base: bf16, kv_cache: fp8_e4m3}", "{base: fp32, kv_cache: int8/channel}"} {
		kinds = append(kinds, ownDump{format, []string{"rollout.numerics=" + format, "steps=8"}, []string{Precision, Order, Routing}, 0})
	}
	for _, router := range []string{"bf16", "fp8_e4m3", "fp4_e2m1"} {
		for _, replay := range []string{"none", "r3"} {
			kinds = append(kinds, ownDump{"router " + router + ", replay " + replay, []string{"rollout.numerics={base: fp32, router: " + router + "}", "routing.replay=" + replay, "steps=8"}, []string{Routing, Precision, Order}, 0})
		}
	}
	for _, p := range []string{"0.8", "0.9", "0.95"} {
		kinds = append(kinds, ownDump{"top-p " + p, []string{"rollout.top_p=" + p, "steps=8"}, []string{Sampler}, 0},
			ownDump{"top-p " + p + ", fp8", []string{"rollout.top_p=" + p, "rollout.numerics=fp8-w8a8", "steps=8"}, []string{Sampler, Precision, Routing}, 0},
			ownDump{"top-p " + p + ", lag 8", []string{"rollout.top_p=" + p, "schedule={name: lag, k: 8}", "steps=30"}, []string{Sampler, Staleness}, 0},
			ownDump{"top-p " + p + " replayed, fp8", []string{"rollout.top_p=" + p, "support.replay=true", "rollout.numerics=fp8-w8a8", "steps=8"}, []string{Precision, Routing}, 0},
			ownDump{"top-p " + p + " replayed, lag 8", []string{"rollout.top_p=" + p, "support.replay=true", "schedule={name: lag, k: 8}", "steps=30"}, []string{Staleness}, 0})
	}
	for _, k := range []int{2, 16} {
		for _, format := range []string{"bf16", "fp8-w8a8", "fp4-w4a16"} {
			kinds = append(kinds, ownDump{fmt.Sprintf("%s, lag %d", format, k), []string{"rollout.numerics=" + format, fmt.Sprintf("schedule={name: lag, k: %d}", k), "steps=30"}, []string{Precision, Routing, Staleness}, 0})
		}
	}
	for i := range n {
		d := kinds[i%len(kinds)]
		d.seed = 1 + i
		list = append(list, d)
	}
	return list
}

// No dump that this program writes is a fault of logging, and nine of ten have what was planted named, or are said to be undecided.
func TestOwnDumps(t *testing.T) {
	n, refused, right, undecided, wrong := 0, 0, 0, 0, 0
	for i, d := range ownDumps(200) {
		if !*fresh && i%90 != 17 {
			continue
		}
		n++
		r := analysedRun(t, "headline", append(d.sets, fmt.Sprintf("seed=%d", d.seed))...).judgement()
		v := r.Verdict
		switch {
		case v.State == Repair || v.State == Unusable:
			refused++
			t.Errorf("%s, seed %d: %s", d.name, d.seed, v.Summary)
		case v.Confidence == Unknown || v.State == Healthy && len(v.Causes) == 0:
			undecided++
		case slices.ContainsFunc(v.Causes, func(c string) bool { return slices.Contains(d.causes, c) }):
			right++
		default:
			wrong++
			t.Logf("%s, seed %d: %s, where it is one of %s: %s", d.name, d.seed, v.State, strings.Join(d.causes, ", "), v.Summary)
		}
	}
	t.Logf("of %d dumps %d have their cause named, %d are healthy or undecided, %d have another cause, %d are refused", n, right, undecided, wrong, refused)
	if refused > 0 || 10*wrong > n {
		t.Errorf("%d of %d refused, %d wrong", refused, n, wrong)
	}
}
