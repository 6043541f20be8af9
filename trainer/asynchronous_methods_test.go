package trainer

import (
	"slices"
	"testing"

	"driftlab/trainer/trainertest"
)

// lagging is a schedule under which every token but the first batches' is old.
var lagging = []string{"schedule={name: areal, eta: 4}", "cluster={workers: 3, costs: {sync: 5000, push: 5000}}",
	"rollout.max_tokens=20", "steps=7", "eval.every=0"}

// acts says how one sees, in a run, that a method for old data does something, and
// what that figure is where nothing is old and the engines are equal.
type acts struct {
	name string
	sets []string
	// figure has the value at no lag, to an accuracy; under lag, in a step at least, another.
	figure       string
	still, about float64
	// anyway says that it does something without lag too.
	anyway bool
	// without is the same recipe without the method, whose weights must be others
	// under lag, and the same at none if equal says so.
	without []string
	equal   bool
}

// methodsForOldData are those that I name for old data, one line each.
var methodsForOldData = []acts{
	{name: "A-3PO", sets: []string{"loss={name: a3po, eps_low: 0.02, eps_high: 0.02}"}, figure: "behave_imp_weight", still: 1,
		without: []string{"loss={name: decoupled_ppo, eps_low: 0.02, eps_high: 0.02}"}, equal: true},
	{name: "A-3PO as an anchor", sets: []string{"anchor=interpolated"}, figure: "actor/ppo_kl", without: []string{"anchor=old"}, equal: true},
	{name: "decoupled PPO", sets: []string{"loss=decoupled_ppo"}, figure: "behave_imp_weight", still: 1, without: []string{"loss=ppo_clip"}},
	{name: "M2PO", sets: []string{"loss={name: m2po, budget: 1e-6, mini_low: 0.01, mini_high: 0.01}", "anchor=behaviour"}, figure: "actor/pg_clipfrac",
		without: []string{"loss={name: m2po, budget: 1e6}", "anchor=behaviour"}, equal: true},
	{name: "M2PO's mask", sets: []string{"loss={name: m2_mask, threshold: 1e-6}", "anchor=old"}, figure: "m2po/masked",
		without: []string{"loss={name: m2_mask, threshold: 1e6}", "anchor=old"}, equal: true},
	{name: "VESPO", sets: []string{"loss=vespo", "anchor=behaviour"}, figure: "vespo/phi_max", still: 1, without: []string{"loss=vespo", "anchor=old"}, equal: true},
	{name: "VCPO's rate", sets: []string{"guards=[ess_lr]", "loss=reinforce"}, figure: "guard/ess_lr_scale", still: 1, about: 1e-6,
		without: []string{"loss=reinforce"}},
	{name: "VCPO's baseline", sets: []string{"advantage=opob", "loss=reinforce"}, without: []string{"advantage=rloo", "loss=reinforce"}},
	{name: "OAPL", sets: []string{"loss={name: oapl, beta2: 0.1}"}, figure: "implicit_reward", without: []string{"loss=reinforce"}},
	{name: "R2VPO", sets: []string{"loss={name: r2vpo, delta: 1e-6}", "anchor=behaviour"}, figure: "r2vpo/variance",
		without: []string{"loss={name: r2vpo, lambda: 0, dual_rate: 0}", "anchor=behaviour"}},
	{name: "QUATRO", sets: []string{"loss={name: quatro, off_policy: true}"}, figure: "", without: []string{"loss=quatro"}, equal: true},
	{name: "QUATRO's pull", sets: []string{"loss=quatro", "anchor=behaviour"}, figure: "actor/ppo_kl", without: []string{"loss=quatro", "anchor=old"}, equal: true},
	{name: "DISPO", sets: []string{"loss={name: dispo, incorrect_low: 0.01, incorrect_high: 0.01, correct_low: 0.01, correct_high: 0.01}", "anchor=behaviour"},
		figure: "actor/pg_clipfrac", without: []string{"loss=dispo", "anchor=behaviour"}, equal: true},
	{name: "TRM", sets: []string{"loss={name: trm, delta: 1e-4}"}, figure: "trm/admitted", still: 1, without: []string{"loss={name: trm, delta: 1e6}"}, equal: true},
	{name: "GAC", sets: []string{"guards=[{name: gradient_alignment, low: 0, high: 0.95}]", "learner.minibatches=2"}, figure: "guard/grad_removed", anyway: true,
		without: []string{"learner.minibatches=2"}},
	{name: "ALP", sets: []string{"terms=[{name: alp, sigma: 0.01, lr: 0.05}]", "anchor=rollout"}, figure: "alp/sigma_mean", still: 0.01, about: 1e-12, anyway: true,
		without: []string{"anchor=rollout"}},
	{name: "a rate by length", sets: []string{"guards=[{name: length_surge, rule: ratio, factor: 1.01, warmup: 1}]"}, figure: "guard/length_lr_scale", still: 1, anyway: true},
	{name: "Online DPO", sets: []string{"loss=online_dpo"}, figure: "dpo/pairs", anyway: true, without: []string{"loss=reinforce"}},
}

// What was published for old data acts where data really are old, in responses of
// several ages: its own figure moves, and other weights come of it. Where nothing is
// old and both engines are one, the figure has the value of no lag in every step. A
// ratio to the policy of the step's start is blind to age, and a recipe with one says so. Without
// -exhaustive only every third entry is run where nothing is old.
func TestMethodsUnderLag(t *testing.T) {
	end := func(t *testing.T, sets ...[]string) *ran {
		return tinyRun(t, slices.Concat(sets...)...)
	}
	sync := []string{"rollout.max_tokens=20", "steps=4", "eval.every=0"}
	for i, m := range methodsForOldData {
		t.Run(m.name, func(t *testing.T) {
			old := end(t, lagging, m.sets)
			if slices.Max(valuesOf(t, old.Record, "staleness/tokens/max")) < 2 || slices.Max(valuesOf(t, old.Record, "staleness/mixed_responses")) == 0 {
				t.Fatalf("nothing is old: %v, %v", valuesOf(t, old.Record, "staleness/tokens/max"), valuesOf(t, old.Record, "staleness/mixed_responses"))
			}
			if m.figure != "" && !moves(valuesOf(t, old.Record, m.figure), m) {
				t.Errorf("under lag %s is %v", m.figure, valuesOf(t, old.Record, m.figure))
			}
			if slices.Equal(end(t, lagging, m.without).Params.Theta, old.Params.Theta) {
				t.Error("under lag it trains what comes without it")
			}
			if !*exhaustive && i%3 != 0 {
				return
			}
			fresh := end(t, sync, m.sets)
			if m.figure != "" {
				if !m.anyway && moves(valuesOf(t, fresh.Record, m.figure), m) {
					t.Errorf("without lag %s is %v", m.figure, valuesOf(t, fresh.Record, m.figure))
				}
			}
			if at := slices.Index(m.sets, "anchor=behaviour"); at >= 0 {
				blind := slices.Replace(slices.Clone(m.sets), at, at+1, "anchor=old")
				if moves(valuesOf(t, end(t, lagging, blind).Record, m.figure), m) {
					t.Errorf("%s sees age where the old policy is that of the step", m.figure)
				}
				says := func(sets []string) bool {
					return len(trainertest.Recipe(t, slices.Concat(lagging, sets)...).Resolved().Inert()) > 0
				}
				if says(m.sets) || !says(blind) {
					t.Error("it is said to act where it cannot, or the other way round")
				}
			}
			if same := slices.Equal(end(t, sync, m.without).Params.Theta, fresh.Params.Theta); m.equal && !same {
				t.Error("without lag it changes the weights")
			}
		})
	}
}

// moves reports whether a figure is another than that of no lag in any step.
func moves(values []float64, m acts) bool {
	return slices.ContainsFunc(values, func(x float64) bool { return x < m.still-m.about || x > m.still+m.about })
}

// A filter by version trains nothing older than it promises, and what it drops is
// counted.
func TestVersionFilter(t *testing.T) {
	run := func(schedule string) (dropped, oldest float64) {
		r := tinyRun(t, "schedule="+schedule, "cluster={workers: 3, costs: {sync: 500, push: 500, copy: 0, learn_token: 5}}", "anchor=behaviour",
			"rollout.slots=4", "rollout.prompts=1", "rollout.group=2", "rollout.max_tokens=50", "steps=20", "eval.every=0").Record
		return slices.Max(valuesOf(t, r, "clock/dropped_samples")), slices.Max(valuesOf(t, r, "staleness/tokens/max"))
	}
	wide, _ := run("{name: prime_rl, max_off_policy: 8}")
	for schedule, bound := range map[string]float64{"{name: prime_rl, max_off_policy: 1}": 1, "{name: trl, max_staleness: 8}": 8} {
		dropped, oldest := run(schedule)
		if oldest != bound || dropped <= wide {
			t.Errorf("%s: a token is %v updates old, %v samples are dropped, %v with a wide bound", schedule, oldest, dropped, wide)
		}
	}
}

// OAPL with a buffer that is empty at every synchronisation: a policy samples what a
// number of updates train, and nothing of it is left when the next one comes. The
// regression's log-ratio is 0 right after it and grows with age.
func TestOAPLWithBufferClearing(t *testing.T) {
	const every = 4
	r := tinyRun(t, "schedule={name: verl_stream, k: 4}", "loss={name: oapl, beta2: 0.1}", "steps=12", "eval.every=0").Record
	ages, oldest, implicit := valuesOf(t, r, "staleness/tokens/mean"), valuesOf(t, r, "staleness/tokens/max"), valuesOf(t, r, "implicit_reward")
	for step, age := range ages {
		if age != float64(step%every) || oldest[step] != age || (implicit[step] == 0) != (age == 0) {
			t.Errorf("step %d, %d updates behind a synchronisation: tokens are %v updates old, %v at most; implicit reward %v", step, step%every, age, oldest[step], implicit[step])
		}
	}
}
