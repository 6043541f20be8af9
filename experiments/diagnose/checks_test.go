package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
)

// A hundred healthy worlds have not a single fault, in any scope.
func TestHealthyWorldsHaveNoFault(t *testing.T) {
	dumps := uint64(24)
	if *exhaustive {
		dumps = 100
	}
	for seed := range dumps {
		r := report(Options{}, rowsOf(seed, []float64{0, 0.03, 0.15}[seed%3], 40, 40))
		for _, c := range r.Checks {
			if c.Result == Fail || c.Conditional {
				t.Errorf("seed %d: %s of %s: %s", seed, c.ID, c.Scope, c.Why)
			}
		}
		if v := r.Verdict; v.State == Repair || v.State == Healthy && len(v.Causes) > 0 && !slices.Equal(v.Causes, []string{Precision}) || v.Confidence == Confident && v.Causes[0] != Precision {
			t.Errorf("seed %d: %+v", seed, r.Verdict)
		}
	}
}

// Every limit by what lies on both sides of it. A case is 40 responses of 50 tokens, 2000 in all.
func TestLimits(t *testing.T) {
	type side struct {
		name   string
		change func(rows []*reader.Row)
		result Result
		says   string
	}
	fp16 := func(x float64) float64 {
		return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ (1<<13 - 1)))
	}
	bf16 := func(x float64) float64 {
		return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ (1<<16 - 1)))
	}
	decimals := func(x float64, k int) float64 {
		scale := math.Pow(10, float64(k))
		return math.Round(x*scale) / scale
	}
	for id, sides := range map[string][]side{
		"column-not-real": {
			{"998 of 1000 zero", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, _ *float64) {
					if *roll = 0; n%500 == 0 {
						*roll = -1
					}
				})
			}, Pass, ""},
			{"all zero but one", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, _ *float64) {
					*roll = 0
					if n == 0 {
						*roll = -1
					}
				})
			}, Fail, "rollout log-probs are all zero"},
			{"the learner's", func(rows []*reader.Row) { tokens(rows, func(n int, _, old *float64) { *old = 0 }) }, Fail, "learner's log-probs are all zero"},
			{"both", func(rows []*reader.Row) { tokens(rows, func(n int, roll, old *float64) { *roll, *old = 0, 0 }) }, Fail, "both"},
		},
		"non-finite": {
			{"one NaN", func(rows []*reader.Row) { rows[3].Old[7] = math.NaN() }, Fail, "1 of 2000"},
			{"one of 1e308", func(rows []*reader.Row) { rows[3].Old[7] = 1e308 }, Fail, "1 of 2000"},
			{"one infinity", func(rows []*reader.Row) { rows[3].Roll[7] = math.Inf(-1) }, Fail, "1 of 2000"},
			{"-51 three times", func(rows []*reader.Row) {
				for i := range 3 {
					rows[i].Roll[0] = -51
				}
			}, Pass, ""},
			{"-51 four times", func(rows []*reader.Row) {
				for i := range 4 {
					rows[i].Roll[0] = -51
				}
			}, Fail, "-51 stands for a log-prob 4 times"},
			{"-49 four times", func(rows []*reader.Row) {
				for i := range 4 {
					rows[i].Old[0] = -49
				}
			}, Pass, ""},
		},
		"impossible-value": {
			{"one of +0.0005", func(rows []*reader.Row) { rows[3].Old[7] = 5e-4 }, Pass, ""},
			{"one of +5", func(rows []*reader.Row) { rows[3].Old[7] = 5 }, Fail, "the learner's log-prob of token 8 is 5; 1 value"},
			{"one of -99", func(rows []*reader.Row) { rows[3].Roll[7] = -99 }, Pass, ""},
			{"one of -750", func(rows []*reader.Row) { rows[3].Roll[7] = -750 }, Fail, "the rollout log-prob of token 8 is -750; 1 value"},
			{"1e308 is not even measured", func(rows []*reader.Row) { rows[3].Old[7] = 1e308 }, Pass, ""},
			{"another sign", func(rows []*reader.Row) { tokens(rows, func(_ int, roll, _ *float64) { *roll = -*roll }) }, NotApplicable, ""},
		},
		"sign-units": {
			{"98 % positive", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, old *float64) {
					if n%50 > 0 {
						*roll = -*roll + 1
					}
				})
			}, Pass, ""},
			{"negated", func(rows []*reader.Row) { tokens(rows, func(_ int, roll, _ *float64) { *roll = -*roll }) }, Fail, "sign"},
			{"probabilities", func(rows []*reader.Row) { tokens(rows, func(_ int, _, old *float64) { *old = math.Exp(*old) }) }, Fail, "the learner's column holds probabilities"},
			{"base 2", func(rows []*reader.Row) { tokens(rows, func(_ int, _, old *float64) { *old /= math.Ln2 }) }, Fail, "learner's log-probs are in base 2"},
			{"base 2, rollout", func(rows []*reader.Row) { tokens(rows, func(_ int, roll, _ *float64) { *roll /= math.Ln2 }) }, Fail, "rollout log-probs are in base 2"},
			{"base 10", func(rows []*reader.Row) { tokens(rows, func(_ int, _, old *float64) { *old /= math.Ln10 }) }, Fail, "learner's log-probs are in base 10"},
			{"base 10, rollout", func(rows []*reader.Row) { tokens(rows, func(_ int, roll, _ *float64) { *roll /= math.Ln10 }) }, Fail, "rollout log-probs are in base 10"},
			{"a slope between", func(rows []*reader.Row) { tokens(rows, func(_ int, _, old *float64) { *old *= 1.49 }) }, Pass, ""},
			{"a slope by accident", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, old *float64) { *old = *roll / math.Ln2 * (1 + 0.35*float64(n%2*2-1)) })
			}, Pass, ""},
			{"the sum so far", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := 1; i < len(r.Roll); i++ {
						r.Roll[i] += r.Roll[i-1]
					}
				}
			}, Fail, "rollout column falls all along"},
			{"falling by accident", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range r.Roll {
						r.Roll[i] = -1 - float64(i)/100
					}
				}
			}, Pass, ""},
			{"one value per response", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range r.Old {
						r.Old[i] = r.Old[0]
					}
				}
			}, Fail, "learner's column is constant"},
		},
		"storage-grid": {
			{"bf16", func(rows []*reader.Row) { tokens(rows, func(_ int, roll, _ *float64) { *roll = bf16(*roll) }) }, Fail, "rollout log-probs were rounded to bfloat16"},
			{"9 of 10 in bf16", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, _ *float64) {
					if n%10 > 0 {
						*roll = bf16(*roll)
					}
				})
			}, Pass, ""},
			{"fp16, the learner's", func(rows []*reader.Row) { tokens(rows, func(_ int, _, old *float64) { *old = fp16(*old) }) }, Watch, "learner's log-probs were rounded to float16"},
			{"fp16, and hardly another gap", func(rows []*reader.Row) {
				tokens(rows, func(_ int, roll, old *float64) { *old = fp16(*roll + (*old-*roll)/20) })
			}, Fail, "learner's log-probs were rounded to float16"},
			{"two decimals", func(rows []*reader.Row) {
				tokens(rows, func(_ int, roll, old *float64) { *roll, *old = decimals(*roll, 2), decimals(*old, 2) })
			}, Fail, "rollout and the learner's log-probs were rounded to 2 decimals"},
			{"four decimals", func(rows []*reader.Row) {
				tokens(rows, func(_ int, roll, old *float64) { *roll, *old = decimals(*roll, 4), decimals(*old, 4) })
			}, Watch, "rollout and the learner's log-probs were rounded to 4 decimals"},
			{"five decimals", func(rows []*reader.Row) {
				tokens(rows, func(_ int, roll, old *float64) { *roll, *old = decimals(*roll, 5), decimals(*old, 5) })
			}, Pass, ""},
		},
		"identical": {
			{"equal engines", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Old = r.Roll
				}
			}, Pass, "equal engines"},
			{"copied, prompt too", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Old, r.PromptRoll = r.Roll, r.PromptOld
				}
			}, Fail, "copy of the other"},
			{"no prompt", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Old, r.PromptRoll = r.Roll, nil
				}
			}, Watch, "nothing is recorded on the prompt"},
			{"equal but for one in 500", func(rows []*reader.Row) {
				tokens(rows, func(n int, roll, old *float64) {
					if n%500 > 0 {
						*old = *roll
					}
				})
				for _, r := range rows {
					r.PromptRoll = nil // so that a gap that is none would be noted
				}
			}, Pass, ""},
			{"prompts copied, responses not", func(rows []*reader.Row) {
				for _, r := range rows {
					r.PromptRoll = r.PromptOld
				}
			}, Pass, ""},
		},
		"duplicates": {
			{"twice", func(rows []*reader.Row) { *rows[1] = *rows[0] }, Fail, "1 response a second time"},
			{"twice, and sure of it", func(rows []*reader.Row) {
				for i := range rows[0].Roll {
					rows[0].Roll[i] = -0.38
				}
				*rows[1] = *rows[0]
			}, Pass, ""},
			{"other tokens", func(rows []*reader.Row) {
				*rows[1] = *rows[0]
				rows[1].Token = slices.Clone(rows[1].Token)
				rows[1].Token[3]++
			}, Pass, ""},
			{"twice, without tokens", func(rows []*reader.Row) { rows[0].Token = nil; *rows[1] = *rows[0] }, Fail, "a second time"},
		},
		"shift": {
			{"one late", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Roll = moved(r.Roll, 1)
				}
			}, Fail, "late"},
			{"one early", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Roll = moved(r.Roll, -1)
				}
			}, Fail, "early"},
			{"two late", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Roll = moved(r.Roll, 2)
				}
			}, Fail, "in 40 of 40 responses (100 %) the rollout log-probs stand two tokens too late"},
			{"four late", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Roll = moved(r.Roll, 4)
				}
			}, Pass, ""},
			{"a third of the responses", func(rows []*reader.Row) {
				for i, r := range rows {
					if i%3 == 0 {
						r.Roll = moved(r.Roll, 1)
					}
				}
			}, Fail, "in 14 of 40 responses (35 %) the rollout log-probs stand one token too late"},
			{"two thirds of the responses", func(rows []*reader.Row) {
				for i, r := range rows {
					if i%3 > 0 {
						r.Roll = moved(r.Roll, -3)
					}
				}
			}, Fail, "in 26 of 40 responses (65 %) the rollout log-probs stand three tokens too early"},
			{"as far as the prompt", func(rows []*reader.Row) { // its own log-probs stand where the prompt does
				for _, r := range rows {
					r.PromptRoll = slices.Clone(r.Roll[:4])
					copy(r.Roll, r.Roll[4:])
					clear(r.Roll[46:])
				}
			}, Fail, "in 40 of 40 responses (100 %) the rollout column begins at the prompt's first token"},
			{"neighbours alike, and own", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range r.Roll {
						r.Roll[i] = -1 - float64(i)/10 + r.Roll[i]/50
						r.Old[i] = r.Roll[i] - 0.01
					}
				}
			}, Pass, ""},
		},
		"masked-in": {
			{"a prompt", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range 6 {
						r.Roll[i], r.Old[i] = 0, -2
					}
				}
			}, Fail, "prompts"},
			{"a tool's reply", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range 6 {
						r.Roll[i+20], r.Old[i+20] = 0, -2
					}
				}
			}, Fail, "tools"},
			{"short runs", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range 5 {
						r.Roll[i], r.Old[i] = 0, -2
					}
				}
			}, Fail, "not recorded"},
			{"to the end", func(rows []*reader.Row) {
				for _, r := range rows {
					for i := range 9 {
						r.Roll[41+i], r.Old[41+i] = 0, -2
					}
				}
			}, Fail, "not recorded"},
			{"one in 90", func(rows []*reader.Row) { every(90, rows, func(roll, old *float64) { *roll, *old = 0, -0.71 }) }, Fail, "1.1 %"},
			{"one in 110", func(rows []*reader.Row) { every(110, rows, func(roll, old *float64) { *roll, *old = 0, -2 }) }, Pass, ""},
			{"the learner nearly sure", func(rows []*reader.Row) { every(5, rows, func(roll, old *float64) { *roll, *old = 0, -0.69 }) }, Pass, ""},
		},
		"retokenised": {
			{"slid from a token on", func(rows []*reader.Row) { r := rows[4]; copy(r.Roll[30:], moved(r.Roll, 1)[30:]) }, Fail, "1 of 40 responses have slid"},
			{"slid the other way", func(rows []*reader.Row) { r := rows[4]; copy(r.Roll[10:], moved(r.Roll, -1)[10:]) }, Fail, "have slid"},
			{"slid by three tokens only", func(rows []*reader.Row) {
				r := rows[4]
				r.Roll[46], r.Old[46] = -9, -9
				for i := 47; i < 50; i++ {
					r.Roll[i], r.Old[i] = -8*float64(i%2), -8*float64((i+1)%2)
				}
			}, Pass, ""},
			{"other tokens in 4", func(rows []*reader.Row) {
				for i := range 4 {
					rows[i].Roll[8], rows[i].Old[8] = -0.5, -12
				}
			}, Fail, "4 of 40"},
			{"other tokens in 3", func(rows []*reader.Row) {
				for i := range 3 {
					rows[i].Roll[8], rows[i].Old[8] = -0.5, -12
				}
			}, Pass, ""},
			{"jumps both ways", func(rows []*reader.Row) {
				for i := range 4 {
					rows[i].Roll[8], rows[i].Old[8], rows[i].Roll[19], rows[i].Old[19] = -0.5, -12, -12, -0.5
				}
			}, Pass, ""},
			{"less than e⁴", func(rows []*reader.Row) {
				for i := range 9 {
					rows[i].Roll[8], rows[i].Old[8] = -0.5, -4.4
				}
			}, Pass, ""},
		},
		"version-tag": {
			{"older", func(rows []*reader.Row) {
				for _, r := range rows {
					r.Head, r.Tail = 3, 5
				}
			}, Pass, ""},
			{"newer", func(rows []*reader.Row) { rows[2].Head, rows[2].Tail = 3, 6; rows[3].Head, rows[3].Tail = 3, 5 }, Fail, "1 of 2 responses have a version that is newer"},
			{"falling", func(rows []*reader.Row) {
				r := rows[2]
				r.Head, r.Tail, r.Version = 3, 4, make([]int32, 50)
				r.Version[0] = 1
			}, Fail, "falls"},
			{"rising", func(rows []*reader.Row) {
				r := rows[2]
				r.Head, r.Tail, r.Version = 3, 4, make([]int32, 50)
				r.Version[49] = 1
			}, Pass, ""},
			{"newest of several updates a step", func(rows []*reader.Row) { rows[2].Head, rows[2].Tail, rows[2].Learner = 3, 16, 16 }, Pass, ""},
			{"newer than several updates a step", func(rows []*reader.Row) { rows[2].Head, rows[2].Tail, rows[2].Learner = 3, 17, 16 }, Fail, "1 of 1 responses have a version that is newer"},
			{"no step", func(rows []*reader.Row) { rows[2].Head, rows[2].Tail, rows[2].Step = 3, 9, reader.Unknown }, NotApplicable, "no version"},
		},
	} {
		for _, s := range sides {
			rows := rowsOf(7, 0.03, 40, 50)
			s.change(rows)
			if got := checked(rows, id); got.Result != s.result || !strings.Contains(got.Why, s.says) {
				t.Errorf("%s: %s: %s (%v): %q, want %s with %q", id, s.name, got.Result, got.Value, got.Why, s.result, s.says)
			}
		}
	}
}

// The lag counts updates, of which a step may make several: the learner's version says so.
func TestLagOf(t *testing.T) {
	for _, c := range []struct{ step, head, learner, want int }{{5, 2, 0, 2}, {5, 4, 0, 0}, {5, 5, 0, 0}, {5, 12, 16, 4}, {5, 16, 16, 0}, {reader.Unknown, 2, 16, -1}, {5, reader.Unknown, 16, -1}} {
		if got := lagOf(&reader.Row{Step: c.step, Head: c.head, Learner: c.learner}); got != c.want {
			t.Errorf("%+v: a lag of %d", c, got)
		}
	}
}
