package diagnose

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
	"driftlab/trainer/recipe/foreign"
)

// gradedRows are responses of three lengths with advantages of both signs and of 0.
func gradedRows() []*reader.Row {
	rows := slices.Concat(rowsOf(3, 0.4, 12, 20), rowsOf(4, 0.4, 12, 40), rowsOf(5, 0.4, 12, 80))
	for i, r := range rows {
		r.Advantage = slices.Repeat([]float64{float64(i%3) - 1}, len(r.Mask))
		r.Reward, r.Group = float64(i%2), i/4
	}
	return rows
}

func loaded(t *testing.T, assignments ...string) recipe.Recipe {
	t.Helper()
	return must.Get(recipe.Load("default", assignments...))(t)
}

// Every registered loss, weighting, mask and preset has finite figures on a dump with and without advantages, or names the
// column that the dump lacks in words: none ends in an internal error.
func TestEvaluateEveryMethod(t *testing.T) {
	var cases []string
	for _, e := range loss.Registry {
		cases = append(cases, "loss="+e.Name)
	}
	for _, e := range correction.Weightings {
		cases = append(cases, "correction={weights: "+e.Name+"}")
	}
	for _, e := range correction.Masks {
		cases = append(cases, "correction={masks: ["+e.Name+"]}")
	}
	for _, e := range correction.Presets {
		cases = append(cases, "correction="+e.Name)
	}
	bare := gradedRows()
	for _, r := range bare {
		r.Advantage, r.Token, r.Prompt, r.Reward, r.Group = nil, nil, nil, math.NaN(), reader.Unknown
	}
	figures := 0
	worlds := map[string]*trial{"graded": newTrial(keptOf(gradedRows())), "bare": newTrial(keptOf(bare))}
	for _, c := range cases {
		sets := []string{c}
		if p, err := correction.LookupPreset(strings.TrimPrefix(c, "correction=")); err == nil && p.Loss != "" {
			sets = append(sets, "loss="+p.Loss)
		}
		r, err := recipe.Load("default", sets...)
		if err != nil {
			continue // what a recipe refuses no configuration comes to
		}
		for name, world := range worlds {
			e, w, err := world.evaluate(r)
			if err != nil {
				t.Errorf("%s, %s: %v", name, c, err)
				continue
			}
			for _, x := range append(w, e.Mean, e.Median, e.ESS, e.Update, e.Masked, e.Clipped) {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%s, %s: %+v", name, c, e)
				}
			}
			if text := fmt.Sprint(e.Missing, e); strings.Contains(text, "column") || strings.Contains(text, "entries") || e.Missing == nil {
				t.Errorf("%s, %s: %s", name, c, text)
			}
			if len(e.Missing) == 0 {
				figures++
			}
		}
	}
	if figures < len(cases) { // of twice as many
		t.Errorf("only %d of %d are evaluated", figures, 2*len(cases))
	}
}

// The weights follow the definition, whatever the loss: of a mask within the loss, a clip to the rollout engine, a bound of
// CISPO with its low end at 1, truncated weights, a product over a response.
func TestEvaluateWeights(t *testing.T) {
	rows := keptOf(gradedRows())
	world := newTrial(rows)
	rho := func(n int) float64 { return math.Exp(world.batch.Old.Logp[n] - world.batch.LogpRoll[n]) }
	a := world.batch.Advantage
	product := func(n int) float64 {
		for i := range world.batch.Len() {
			if from, to := world.batch.Span(i); n >= from && n < to {
				sum := 0.0
				for m := from; m < to; m++ {
					sum += world.batch.Old.Logp[m] - world.batch.LogpRoll[m]
				}
				return math.Exp(sum)
			}
		}
		return 0
	}
	for _, c := range []struct {
		sets []string
		want func(n int) float64
	}{
		{[]string{"loss=ppo_clip"}, func(int) float64 { return 1 }},
		{[]string{"loss=ppo_clip", "correction={weights: {name: token_tis, cap: 1.2}}"}, func(n int) float64 { return min(rho(n), 1.2) }},
		{[]string{"loss=ppo_clip", "correction={weights: {name: sequence_tis, cap: 2}}"}, func(n int) float64 { return min(product(n), 2) }},
		{[]string{"loss={name: cispo, eps_low: 0, eps_high: 0.3, anchor: roll}"}, func(n int) float64 { return min(max(rho(n), 1), 1.3) }},
		{[]string{"loss={name: ppo_clip, eps_low: 0.2, eps_high: 0.2, dual_clip: 0}", "correction={mode: bypass}"}, func(n int) float64 {
			if a[n] > 0 && rho(n) > 1.2 || a[n] < 0 && rho(n) < 0.8 {
				return 0
			}
			return rho(n)
		}},
		{[]string{"loss={name: rollout_is, eps_low: 0.5, eps_high: 0.5}"}, func(n int) float64 {
			if r := rho(n); r < 0.5 || r > 1.5 {
				return 0
			}
			return rho(n)
		}},
		{[]string{"loss=ppo_clip", "correction={masks: [{name: token_mask, low: 0.8, high: 1.25}]}"}, func(n int) float64 {
			if r := rho(n); r < 0.8 || r > 1.25 {
				return 0
			}
			return 1
		}},
	} {
		e, w, err := world.evaluate(loaded(t, c.sets...))
		if err != nil || len(e.Missing) > 0 {
			t.Fatalf("%v: %v %+v", c.sets, err, e)
		}
		sum, left, whole := 0.0, 0.0, 0.0
		for n := range w {
			if a[n] == 0 {
				continue // tried with both signs
			}
			if math.Abs(w[n]-c.want(n)) > 1e-9*max(1, c.want(n)) {
				t.Fatalf("%v: weight %v at token %d, want %v", c.sets, w[n], n, c.want(n))
			}
			sum, left, whole = sum+w[n], left+w[n], whole+1
		}
		if math.Abs(e.Update-left/whole) > 1e-9 {
			t.Errorf("%v: %v of the update is left, want %v", c.sets, e.Update, left/whole)
		}
	}
}

// Columns that a dump records next to the log-probs reach the methods that read them: a truncated response is masked where the
// finish reason is there, and the reference is read.
func TestEvaluateOtherColumns(t *testing.T) {
	rows := gradedRows()
	for i, r := range rows {
		r.Finish, r.Ref, r.Acc = []string{"stop", "length"}[i%2], slices.Clone(r.Old), float64(i%2)
	}
	world := newTrial(keptOf(rows))
	e, _, err := world.evaluate(loaded(t, "correction={masks: [truncated]}", "loss=dispo"))
	if err != nil || len(e.Missing) > 0 || math.Abs(e.Masked-0.5) > 0.02 {
		t.Errorf("%v, %+v", err, e)
	}
	if e, _, err = world.evaluate(loaded(t, "loss=ref_kl")); err != nil || strings.Contains(fmt.Sprint(e.Missing), "reference") {
		t.Errorf("%v, %+v", err, e)
	}
}

// A setting is pasted for the framework that was asked for, else of the configuration, else of the dump; as a recipe where none of
// them says whose the run is.
func TestPasteSpeaksTheRunsLanguage(t *testing.T) {
	skyrl := must.Get(foreign.ReadAs("", "x", []byte("off_policy_correction: {tis_ratio_type: token, token_tis_ratio_clip_high: 2.0}")))(t)
	world := newTrial(keptOf(rowsOf(3, 0.4, 60, 60)))
	decided := []Decision{{Row: "a row", Fired: true, correction: tokenTIS(nil)}}
	recommended, config := world.recommend(decided)
	for _, c := range []struct {
		name    string
		options Options
		format  string
		want    string // the framework
	}{
		{"nothing", Options{}, "neutral", ""},
		{"flag", Options{Framework: "trl", Config: skyrl}, "verl", "trl"},
		{"configuration", Options{Config: skyrl}, "verl", "skyrl"},
		{"dump", Options{}, "prime-transport", "prime-transport"},
		{"dump of miles", Options{}, "miles", "slime"},
		{"not written", Options{Framework: "rllm"}, "neutral", ""},
		{"not written, and a dump of another framework", Options{Framework: "rllm"}, "nemo", ""},
	} {
		r := Report{Inputs: []Input{{Format: c.format}}, Decisions: decided, Recommended: recommended, Config: config}
		r.Paste = New(c.options).paste(&r)
		if r.Paste == nil || r.Paste.Framework != c.want || c.want == "" && !strings.HasPrefix(r.Paste.Text, "correction: ") {
			t.Errorf("%s: %+v", c.name, r.Paste)
		} else if c.want == "" && r.Paste.Unwritten != c.options.Framework {
			t.Errorf("%s: unwritten %q", c.name, r.Paste.Unwritten)
		}
	}
}

// A model's name with active parameters says that it has experts; nothing else does.
func TestExpertsByName(t *testing.T) {
	for name, want := range map[string]bool{
		"/models/Qwen3-30B-A3B": true, "Qwen3-30B-A3B-Instruct-2507": true, "qwen3-235b-a22b_fp8": true, "x-A1.5B/step_1.jsonl": true,
		"Qwen3-8B": false, "a-A3Bc": false, "step-a3.jsonl": false,
	} {
		a := New(Options{})
		a.model(name)
		if (a.options.Experts > 1) != want {
			t.Errorf("%s: %v", name, a.options.Experts)
		}
	}
	a := New(Options{Experts: 1})
	if a.model("Qwen3-30B-A3B"); a.options.Experts != 1 {
		t.Error("a name overrules what was said")
	}
}

// longRows are responses of 1,600 to 2,600 tokens whose tokens agree: E[ratio] = 1, standard deviation of log-ratios 0.074.
func longRows() []*reader.Row {
	rows := rowsOf(11, 0.074, 16, 1)
	r := rand.New(rand.NewPCG(10, 48))
	for i, row := range rows {
		n := 1600 + 1000*i/len(rows)
		row.Token, row.Roll, row.Old, row.Mask = nil, nil, nil, nil
		for range n {
			roll := -0.5 - r.ExpFloat64()/2 // the noise never lifts a probability above 1
			row.Token, row.Roll, row.Mask = append(row.Token, int32(r.IntN(5000))), append(row.Roll, roll), append(row.Mask, true)
			row.Old = append(row.Old, roll+0.074*r.NormFloat64()-0.074*0.074/2)
		}
		row.Advantage = slices.Repeat([]float64{float64(1 - 2*(i%2))}, n)
	}
	return rows
}

// A configuration on a dump has its answer: what the loss and the correction do there, or what is missing. None is off that
// weighs or masks by the rollout engine's ratio, wherever it does.
func TestConfigurationOnDump(t *testing.T) {
	const skyrl = "trainer: {train_batch_size: 48, policy_mini_batch_size: 48, update_epochs_per_batch: 1, algorithm: {%s}}\ngenerator: {sampling_params: {logprobs: 1}}\n"
	healthy := func() []*reader.Row { return rowsOf(3, 0.001, 60, 60) }
	stale := func() []*reader.Row { return rowsOf(3, 0.4, 60, 60) }
	for _, c := range []struct {
		name, config string
		dump         func() []*reader.Row
		id           string
		want         []string
	}{
		{"a product over 2,000 tokens", "loss_fn: {use_importance_sampling_correction: true, truncated_importance_sampling_type: tis, truncated_importance_sampling_ratio: 2.0, sequence_level_importance_ratios: true, token_level_loss: false}",
			longRows, "product-collapses", []string{"collapses with the length", "token_tis (cap 2) has mean weight 1 and ESS 0.99"}},
		{"token weights on 2,000 tokens", "loss_fn: {use_importance_sampling_correction: true, truncated_importance_sampling_type: tis, truncated_importance_sampling_ratio: 2.0}",
			longRows, "correction-harmless", []string{"harmless", "ESS 0.99"}},
		{"TIS on a healthy dump", "algorithm: {rollout_correction: {rollout_is: token, rollout_is_threshold: 2.0}}\nactor_rollout_ref: {rollout: {calculate_log_probs: true}}",
			healthy, "correction-harmless", []string{"harmless: mean weight 1, median 1, ESS 1; none of the token ratios lies above 2"}},
		{"overlong filtering without a finish reason", fmt.Sprintf(skyrl, "policy_loss_type: regular, off_policy_correction: {tis_ratio_type: token, token_tis_ratio_clip_high: 2.0}") + "  apply_overlong_filtering: true\n",
			healthy, "not-evaluable", []string{"truncated: the dump has no finish reason"}},
		{"CISPO with the rollout as anchor", fmt.Sprintf(skyrl, "policy_loss_type: cispo, cispo: {cispo_eps_clip_low: 0, cispo_eps_clip_high: 5, cispo_anchor: rollout}"),
			stale, "correction-acts", []string{"at the lower bound 1"}},
		{"CISPO with the old policy as anchor", fmt.Sprintf(skyrl, "policy_loss_type: cispo, cispo: {cispo_eps_clip_low: 0, cispo_eps_clip_high: 5}"),
			stale, "clip-inert", []string{"the clip of the loss cispo cannot act"}},
		{"DPPO", fmt.Sprintf(skyrl, "policy_loss_type: dppo, dppo: {delta_low: 0.05, delta_high: 0.05}"), stale, "correction-acts", []string{"% of the tokens without a gradient in the loss"}},
		{"a clip against the rollout engine", "algorithm: {rollout_correction: {bypass_mode: true, loss_type: ppo_clip}}\nactor_rollout_ref: {rollout: {calculate_log_probs: true}, actor: {clip_ratio: 0.2}}",
			stale, "correction-acts", []string{"% of the tokens without a gradient in the loss"}},
		{"OPSM", "--use-opsm --opsm-delta 1e-4", stale, "", nil},
		{"none", "actor_rollout_ref: {actor: {clip_ratio: 0.2, policy_loss: {loss_mode: gspo}}}", stale, "clip-inert", []string{"gspo cannot act"}},
	} {
		config := must.Get(foreign.ReadAs("", "x", []byte(c.config)))(t)
		analysis := analysed(Options{}, c.dump())
		world := newTrial(analysis.sample.inOrder())
		r := &Report{Verdict: Verdict{State: Genuine}, Gap: analysis.measured(), Decisions: []Decision{{}}}
		a, run := world.active(config, r)
		text, findings := "", a.findings(world, r, run)
		for _, f := range findings {
			if f.ID == c.id {
				text += f.Text
			}
			if strings.Contains(f.Text, "column") || strings.Contains(f.Text, "entries") {
				t.Errorf("%s: %s", c.name, f.Text)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q, want %s: %q; %s", c.name, findings, c.id, want, a.Why)
			}
		}
		if acts := c.id != "clip-inert"; acts != a.Configured || strings.HasPrefix(a.Why, "off") == acts {
			t.Errorf("%s: configured %v: %s", c.name, a.Configured, a.Why)
		}
	}
}
