package enginetest_test

import (
	"strings"
	"testing"

	"driftlab/engine"
	"driftlab/engine/enginetest"
	"driftlab/engine/reference"
	"driftlab/model"
	"driftlab/precision"
)

// exact is an engine without any error: the reference itself, whose results
// spoil may then change.
func exact(spoil func(*enginetest.Observation)) enginetest.Subject {
	return func(p *model.Params, n engine.Numerics, prompts [][]int32, temperature float64) []enginetest.Observation {
		var list []enginetest.Observation
		for _, tokens := range prompts {
			trace := reference.New(p).Forward(tokens, nil)
			o := enginetest.Observation{Tokens: tokens, Routes: trace.Routes}
			for _, logits := range trace.Logits {
				var logp []float32
				for _, x := range reference.LogSoftmax(logits, temperature) {
					logp = append(logp, float32(x))
				}
				o.LogProbs = append(o.LogProbs, logp)
			}
			spoil(&o)
			list = append(list, o)
		}
		return list
	}
}

// recorder is a test that records failures instead of failing.
type recorder struct {
	testing.TB
	faults []string
}

func (r *recorder) Helper()                   {}
func (r *recorder) Logf(string, ...any)       {}
func (r *recorder) Errorf(f string, _ ...any) { r.faults = append(r.faults, f) }
func (r *recorder) Fatalf(f string, a ...any) { r.Errorf(f, a...); panic(r) }
func (r *recorder) caught(text string) (ok bool) {
	return strings.Contains(strings.Join(r.faults, "\n"), text)
}

// The suite fails engines that err, and engines that are finer than they say.
func TestCompareFails(t *testing.T) {
	fp32, _ := engine.Preset("fp32")
	bf16, _ := engine.Preset("bf16")
	rounding := func(o *enginetest.Observation) {
		for _, logp := range o.LogProbs {
			precision.BF16.RoundSlice(logp, logp)
		}
	}
	for _, test := range []struct {
		name     string
		numerics engine.Numerics
		spoil    func(*enginetest.Observation)
		bound    enginetest.Tolerance
		fault    string // empty if the subject is to pass
	}{
		{"an engine that rounds as stated", bf16, rounding, enginetest.Tolerance{Max: 0.02, Mean: 6e-3}, ""},
		{"one log-prob off", fp32, func(o *enginetest.Observation) { o.LogProbs[0][3] += 1e-4 }, enginetest.Tolerances["fp32"], "a log-prob is"},
		{"another temperature", bf16, func(o *enginetest.Observation) {
			for _, logp := range o.LogProbs {
				for i := range logp {
					logp[i] *= 0.8
				}
			}
		}, enginetest.Tolerances["bf16"], "a log-prob is"},
		{"finer than stated", bf16, func(*enginetest.Observation) {}, enginetest.Tolerances["bf16"], "on average"},
		{"rows shifted by one", fp32, func(o *enginetest.Observation) {
			copy(o.LogProbs[1:], o.LogProbs)
		}, enginetest.Tolerances["fp32"], "a log-prob is"},
		{"other experts", fp32, func(o *enginetest.Observation) {
			for i, e := range o.Routes {
				o.Routes[i] = (e + 1) % 3
			}
		}, enginetest.Tolerances["fp32"], "visits experts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{TB: t}
			enginetest.Compare(r, exact(test.spoil), test.numerics, test.bound)
			if test.fault == "" && len(r.faults) > 0 || test.fault != "" && !r.caught(test.fault) {
				t.Errorf("faults %q, want %q", r.faults, test.fault)
			}
		})
	}
}
