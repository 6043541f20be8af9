package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"driftlab/experiments/diagnose/reader"
	"driftlab/trainer/method/metrics"
)

// Report is what an analysis has found. Parts that this version does not work out are absent.
type Report struct {
	Schema  int     `json:"schema"`
	Inputs  []Input `json:"inputs"`
	Verdict Verdict `json:"verdict"`
	// Findings are all statements, the gravest first; Unchecked are columns and questions that this dump does not answer.
	Findings  []Finding `json:"findings"`
	Unchecked []string  `json:"unchecked"`
	Checks    []Check   `json:"checks"`
	Gap       *Gap      `json:"gap,omitempty"`
	Responses Responses `json:"responses"`
	// Active is about the configured correction, absent where no configuration is given.
	Active *Active `json:"active,omitempty"`
	// Decisions are the rows of the decision table as far as it was evaluated: the last one
	// decides. Disagreements are what the sources of its limits would say of these tokens.
	Decisions     []Decision     `json:"decisions,omitempty"`
	Disagreements []Disagreement `json:"disagreements,omitempty"`
	// Recommended is the setting to use, absent where none is; Config is it in the syntax of each framework.
	Recommended *Fix              `json:"recommended,omitempty"`
	Config      map[string]string `json:"config,omitempty"`
	// Paste is it in the syntax that the run is most likely configured in.
	Paste *Paste `json:"paste,omitempty"`
	// Alarms are rules of thumb on this gap; absent where there is too little to judge.
	Alarms []Alarm `json:"alarms,omitempty"`
	// Features are what the gap looks like; absent where there is too little, or to repair, or no gap.
	Features *Features `json:"features,omitempty"`
	// Signatures are features next to their ranges in simulated gaps of each cause; absent without causes.
	Signatures []Signature `json:"looks,omitempty"`
	// Causes are what may have made it, the likeliest first, and Ambiguous the pairs that this data cannot distinguish.
	Causes    []Cause     `json:"causes"`
	Ambiguous [][2]string `json:"ambiguous"`
	// Attribution says how often causes are right on simulated dumps that were left out of the fit; absent without causes.
	Attribution []Accuracy `json:"attribution,omitempty"`
	// Fixes are what corrections would do to these tokens; absent where the data is to be repaired first.
	Fixes []Fix `json:"fixes,omitempty"`
	// Reproduced is the toy run that was looked for, absent where it was not asked for.
	Reproduced *Reproduced `json:"reproduced,omitempty"`
}

// NoRow is why not one row could be read, empty where one could.
func (r *Report) NoRow() string {
	reason := ""
	for _, in := range r.Inputs {
		if in.Rows > 0 {
			return ""
		}
		if reason == "" && len(in.Damage) > 0 {
			reason = in.Damage[0].Reason
		}
	}
	return "no complete row: " + cmp.Or(reason, "nothing but blanks")
}

// Reproduced is a toy run with a gap of the same cause and about the same size.
type Reproduced struct {
	// Recipe is the file, Cause what makes the gap, Level how much of it there is.
	Recipe string `json:"recipe"`
	Cause  string `json:"cause"`
	Level  string `json:"dose"`
	// MeanAbsDlogp and K3 were measured on a short run. Factor is how far the one that is further off is from the dump's.
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	K3           float64 `json:"k3"`
	Factor       float64 `json:"factor"`
}

// Met reports whether mean |d| and k3 are both within a factor of two of the dump's.
func (r *Reproduced) Met() bool { return r.Factor <= 2 }

// Input is a file that was read.
type Input struct {
	File   string `json:"file"`
	Format string `json:"format"`
	// Step is null where neither rows nor name say it.
	Step *int `json:"step"`
	// Rows were complete, RowsUsed of them have trained tokens that count, Tokens of these.
	Rows     int `json:"rows"`
	RowsUsed int `json:"rows_used"`
	Tokens   int `json:"tokens"`
	// Damage names the first faults, Damaged counts all.
	Damage  []reader.Damage `json:"damage"`
	Damaged int             `json:"damaged"`
	Missing []string        `json:"missing"`
	Notes   []string        `json:"notes,omitempty"`
}

func inputOf(f *reader.File) Input {
	in := Input{File: f.Name, Format: f.Format, Rows: f.Rows, RowsUsed: f.Used, Tokens: f.Tokens,
		Damage: f.Damage, Damaged: f.Damaged, Missing: f.Missing, Notes: f.Notes}
	if f.Step != reader.Unknown {
		in.Step = &f.Step
	}
	return in
}

// Check is what a check says of a scope. Those of everything are all there, of other
// scopes those that are not passed.
type Check struct {
	ID     string  `json:"id"`
	Scope  string  `json:"scope"`
	Value  float64 `json:"value"`
	Limit  float64 `json:"limit"`
	Result Result  `json:"result"`
	// Conditional says that an earlier check of the same tokens has failed: this one may be its consequence.
	Conditional bool   `json:"conditional"`
	Why         string `json:"why"`
	// Reference is where the value lies in simulated dumps that have nothing to repair; absent
	// where the check has nothing to say of them, or of this one.
	Reference *Range `json:"reference,omitempty"`

	at     int
	scope  scope
	family string
	fix    string
}

// Gap is that between the engines, on trained tokens with finite log-probs.
type Gap struct {
	metrics.Gap
	// MeanRatio is the mean of ρ, OutsideHalfToTwo the share of tokens whose ρ is not between a half and 2.
	// MeanExpAbs is the mean of exp|d|, NeMo-RL's token_mult_prob_error. TV is ½·mean |ρ − 1|, an
	// estimate of the total variation of the two policies.
	TV               float64 `json:"total_variation"`
	MeanRatio        float64 `json:"mean_ratio"`
	MeanExpAbs       float64 `json:"mean_exp_abs_dlogp"`
	OutsideHalfToTwo float64 `json:"share_outside_half_to_2"`
	// NonFinite tokens are left out, Clamped ones have |d| > 20.
	NonFinite int `json:"nonfinite"`
	Clamped   int `json:"clamped"`
}

// State is what a dump as a whole is like.
type State string

// The states.
const (
	Healthy      State = "healthy"
	Repair       State = "repair"
	Genuine      State = "genuine"
	Inactive     State = "inactive"
	Insufficient State = "insufficient"
	Unusable     State = "unusable"
	// CannotLearn is log-probs that are healthy, of a batch from which nothing right can be learned.
	CannotLearn State = "cannot-learn"
)

// Verdict is the report in a sentence.
type Verdict struct {
	State State `json:"state"`
	// Causes are those that the checks or the look of the gap speak for, the likeliest first.
	Causes []string `json:"causes"`
	// Confidence is named, likely or either: of the first, or of the first two. Empty where nothing can be said.
	Confidence Confidence `json:"confidence,omitempty"`
	Summary    string     `json:"summary"`
	// LogProbs says whether the log-probs can be trusted and how large the mismatch is, Learning whether the run can learn from
	// this batch; LearningState is the level of what speaks against it, "note" where nothing does, "unknown" where no column was there.
	LogProbs      string `json:"log_probs"`
	Learning      string `json:"learning"`
	LearningState Level  `json:"learning_state"`
	// Next is what to do now.
	Next string `json:"next,omitempty"`
}

// Report judges what was read, and tries corrections where there is nothing to repair.
func (a *Analysis) Report() Report {
	r := a.judgement()
	t := newTrial(a.sample.inOrder())
	var k *known
	switch state := r.Verdict.State; state {
	case Healthy, Genuine:
		r.Fixes = t.fixes()
		fallthrough
	case Repair:
		k = t.facts(&r, a.options.Config)
		r.Decisions = decide(k)
		r.Alarms = append(r.Alarms, k.alarms(a.options.Rates)...)
		if state == Repair {
			break
		}
		r.Disagreements = t.disagreements(k)
		r.Recommended, r.Config = t.recommend(r.Decisions)
		r.Paste = a.paste(&r)
		if last := r.Decisions[len(r.Decisions)-1]; last.Row != "agreement" {
			r.Verdict.Next = last.Advice
		}
	}
	if n := len(r.Decisions); n > 0 && r.Decisions[n-1].Measured != "" {
		r.Findings = append(r.Findings, Finding{ID: "measured", Topic: Configuration, Level: Note, Text: r.Decisions[n-1].Measured})
	}
	if a.expertsOf != "" {
		r.Findings = append(r.Findings, Finding{ID: "experts", Topic: Configuration, Level: Note, Text: "the model has experts by its name (" + a.expertsOf + "): routing is a possible cause of a gap"})
	}
	if a.options.Config != nil {
		on, run := t.active(a.options.Config, &r)
		r.Active = on
		r.Findings = append(r.Findings, on.findings(t, &r, run)...)
		if r.Active.Configured {
			r.Active.Settings = t.settings(a.options.Config, &r, k)
		}
		r.Verdict = r.Verdict.given(r.Active)
	}
	if r.Verdict.State == Unusable {
		r.Findings = append(r.Findings, r.Responses.graded()...)
	}
	r.conclude(r.collect(a.collectors, &a.options))
	return r
}

// judgement is the report without what corrections would do.
func (a *Analysis) judgement() Report {
	r := Report{Schema: 1, Inputs: a.inputs, Checks: []Check{}, Causes: []Cause{}, Ambiguous: [][2]string{}, Responses: a.text.summary()}
	missing, fix := a.missing()
	if len(a.scopes) > 0 {
		r.Checks = a.judged()
		r.Gap = a.measured()
	} else {
		r.Checks = append(r.Checks, Check{ID: checks[0].id, Scope: everything.String(), Limit: leastTokens, Result: Fail, Why: missing, family: Bookkeeping})
	}
	r.Verdict = a.verdict(&r, missing, fix)
	r.Findings = append(r.Findings, recordFindings(r.Checks)...)
	replaced := r.Verdict.State == Repair && slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == "retokenised" && c.Result == Fail && !c.Conditional })
	if r.Verdict.State == Healthy || r.Verdict.State == Genuine || replaced || r.Verdict.State == Repair && r.Verdict.Causes[0] == Sampler {
		rows := a.evidence(&r)
		if l := localOf(rows); l != nil && (!replaced || l.dimension.ofTokens) { // tokens that are replaced are anywhere
			a.local(&r, l, rows)
		} else if r.Verdict.State != Repair {
			a.attribute(&r, rows)
			if text := unevenOf(rows); text != "" {
				r.Findings = append(r.Findings, Finding{ID: unevenGap, Topic: Mismatch, Level: Warning, Text: text, Next: "compare what is different there first: the engine's version, its flags, its weights"})
			}
		}
	}
	if c := r.check("law-identity"); c.Result != NotApplicable {
		r.Alarms = alarmsOf(r.Gap, c.Value, a.options.Rates)
	}
	return r
}

func (a *Analysis) measured() *Gap {
	g := a.sums
	g.Gap = a.gap.Gap()
	a.flips.fill(&g.Gap)
	if n := float64(g.Tokens); n > 0 {
		g.MeanRatio, g.MeanExpAbs, g.OutsideHalfToTwo, g.TV = g.MeanRatio/n, g.MeanExpAbs/n, g.OutsideHalfToTwo/n, g.TV/n/2
	}
	return &g
}

// Two engines agree whose gap is within these.
//
// Source: the survey's "no drift" (Pearson, |kl|, perplexity ratio) and verl's FAQ
// (difference of probabilities), NeMo-RL's guide (k3); the width of the perplexity
// ratio is ours.
const (
	agreePearson = 0.99
	agreeKL      = 0.02
	agreePPL     = 0.01
	agreeDp      = 0.005
	agreeK3      = 1e-3
)

func agrees(g metrics.Gap) bool {
	return g.Pearson >= agreePearson && abs(g.K1) < agreeKL && abs(g.PPLRatio-1) <= agreePPL && g.MeanAbsDp < agreeDp && g.K3 < agreeK3
}

// evidence are the responses of the sample with what of their records can be believed: routes that repeat one row are left out.
func (a *Analysis) evidence(r *Report) []*kept {
	rows := a.sample.inOrder()
	if r.check("repeated-routes").Result == Watch {
		r.Gap.HasRoutes, r.Gap.FlipLayer = false, nil
		for n, k := range rows {
			part := *k
			part.flipped = nil
			rows[n] = &part
		}
	}
	return rows
}

// verdict is the first row of the decision table that fires: what cannot be judged,
// what is to be repaired, what needs nothing, and what is a genuine gap.
func (a *Analysis) verdict(r *Report, missing, fix string) Verdict {
	if missing != "" {
		return Verdict{State: Unusable, Causes: []string{}, Summary: "There is no gap to measure: " + missing + ".", Next: fix}
	}
	if first := r.Checks[0]; first.Result != Pass {
		return Verdict{State: Insufficient, Causes: []string{}, Summary: capital(first.Why) + ".", Next: "give several steps, or a larger batch"}
	}
	if faults := slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Result != Fail }); len(faults) > 0 {
		return repair(faults)
	}
	g := r.Gap
	size := fmt.Sprintf("mean |d| %.2g, k3 %.2g, Pearson %.4f on %s", g.MeanAbsDlogp, g.K3, g.Pearson, count(g.Tokens, "token"))
	switch {
	case g.Unequal <= 1-equalShare && r.check("identical").Why == unknownCopy:
		return Verdict{State: Inactive, Causes: []string{}, Summary: capital(unknownCopy) + ": every weight is 1, and every correction does nothing.",
			Next: "record both engines' log-probs on the prompt as well, which a rollout engine does not score by itself, or compare a step of the two engines directly"}
	case g.Unequal <= 1-equalShare:
		return Verdict{State: Healthy, Causes: []string{}, Summary: capital(r.check("identical").Why) +
			". Agreement on sampled tokens does not prove equal distributions, and a copied column would give the same result.", Next: "no correction; check that both columns are recorded, each by its own engine"}
	case agrees(g.Gap):
		return Verdict{State: Healthy, Causes: []string{}, Summary: "The engines agree as well as engines do (" + size + ")." + notProved, Next: "no correction is needed; log the metrics"}
	}
	return Verdict{State: Genuine, Causes: []string{}, Summary: "The bookkeeping is in order and the gap is genuine (" + size + ").",
		Next: "look for the cause: precision, order of summation, routing, or staleness"}
}

// notProved is the caveat of an agreement, which the verdict's line leaves to the page.
const notProved = " Agreement on sampled tokens does not prove equal distributions."

// rowChecks are those whose values are shares of the responses. What has happened to most of them decides: columns that
// do not belong together fit by accident in a few.
var rowChecks = []string{"rows-not-real", "shift", "same-tokens"}

// repair is the verdict on faults, of which the first decides; of the sampler's that
// which says what distribution it was, over everything if it is found there.
func repair(faults []Check) Verdict {
	first := slices.MinFunc(faults, func(a, b Check) int { return a.at - b.at })
	if first.family == Sampler {
		for _, c := range faults { // everything first, then the other scopes
			if c.ID == "support" || c.ID == "temperature" || c.ID == "swapped" {
				first = c
				break
			}
		}
	}
	if slices.Contains(rowChecks, first.ID) {
		for _, c := range faults {
			if slices.Contains(rowChecks, c.ID) && c.scope == first.scope && c.Value > first.Value {
				first = c
			}
		}
	}
	where := ""
	if first.scope != everything {
		where = " (in " + first.Scope + ")"
	} else if only := narrower(faults, first); only != "" {
		where = " (all of them in " + only + ")"
	}
	return Verdict{State: Repair, Causes: []string{first.family}, Confidence: Confident,
		Summary: "Repair the data first: " + first.Why + where + ".", Next: first.fix + "; no importance correction before that"}
}

// narrower is the only environment, or file, that has a fault of some responses, empty if several have it, or all responses.
func narrower(faults []Check, of Check) (only string) {
	for _, kind := range []string{"env", "file"} {
		in := slices.DeleteFunc(slices.Clone(faults), func(c Check) bool { return c.ID != of.ID || c.scope.kind != kind })
		if slices.Contains(rowChecks, of.ID) && len(in) == 1 && in[0].Value > of.Value {
			return in[0].Scope
		}
	}
	return ""
}

// check is one of everything, by its name.
func (r *Report) check(id string) Check {
	if i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.ID == id && c.Scope == everything.String() }); i >= 0 {
		return r.Checks[i]
	}
	return Check{Result: NotApplicable}
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

func abs(x float64) float64 { return max(x, -x) }

// Topic is what a finding is about.
type Topic string

// The topics.
const (
	Data          Topic = "data"
	Mismatch      Topic = "mismatch"
	Learning      Topic = "learning"
	Configuration Topic = "configuration"
)

// Level is how grave a finding is.
type Level string

// The levels, the gravest first.
const (
	Fault     Level = "fault"
	Warning   Level = "warning"
	Undecided Level = "unknown"
	Note      Level = "note"
)

// levels are in the order of their gravity.
var levels = []Level{Fault, Warning, Undecided, Note}

// Finding is one statement of the report.
type Finding struct {
	ID    string `json:"id"`
	Topic Topic  `json:"topic"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	Where string `json:"where,omitempty"`
}

// String is the finding as a sentence without its stop.
func (f Finding) String() string {
	if f.Where == "" {
		return f.Text
	}
	return f.Text + " (" + f.Where + ")"
}

// collector sees every row of a dump once, in bounded memory. At the end it says what it has found, and which columns it
// looks at.
type collector interface {
	add(r *reader.Row)
	findings(o *Options) ([]Finding, []looked)
}

// looked is a column, or a question, and whether the dump has what it takes.
type looked struct {
	at    string
	there bool
}

func newCollectors() []collector {
	return []collector{&answers{}, &movedTokens{}, &referenceKL{}, &teacherEnds{}, &heads{}, &ownMask{}, &sureness{}, &gapGrowth{}}
}

// collect takes the findings of the collectors in, and says what of the dump they looked at.
func (r *Report) collect(list []collector, o *Options) (at []string) {
	r.Unchecked = []string{}
	for _, c := range list {
		found, columns := c.findings(o)
		r.Findings = append(r.Findings, found...)
		for _, x := range columns {
			if x.there {
				at = append(at, x.at)
			} else {
				r.Unchecked = append(r.Unchecked, x.at)
			}
		}
	}
	return at
}

// about are the faults and warnings on one of the topics.
func (r *Report) about(topics ...Topic) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool {
		return !slices.Contains(topics, f.Topic) || f.Level != Fault && f.Level != Warning
	})
}

// conclude orders the findings and makes the verdict's two lines of them.
func (r *Report) conclude(at []string) {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { return slices.Index(levels, a.Level) - slices.Index(levels, b.Level) })
	v := &r.Verdict
	v.LogProbs = strings.Replace(v.Summary, notProved, "", 1)
	sound := v.State == Healthy || v.State == Genuine || v.State == Inactive
	for _, f := range r.about(Data, Mismatch) {
		if f.Level == Fault && sound {
			v.LogProbs, v.Next = capital(f.String())+"; the figures below contain it.", f.Next
			sound = false
		} else if f.Level == Warning && f.ID != unevenGap && !(f.ID == "gap-grows" && strings.Contains(v.Summary, "gap grows")) {
			v.LogProbs += " " + capital(f.String()) + "."
			break
		}
	}
	for _, f := range r.Findings {
		if f.ID == unevenGap {
			v.LogProbs = capital(f.String()) + ". " + v.LogProbs // where it lies comes first
		}
	}
	against := r.about(Learning, Configuration)
	switch {
	case len(against) > 0:
		v.Learning, v.LearningState = capital(against[0].String())+".", against[0].Level
		if against[0].Next != "" && (v.State == Healthy || against[0].Level == Fault && v.State != Repair) {
			v.Next = against[0].Next
		}
		if more := len(against) - 1; more > 0 {
			v.Learning += fmt.Sprintf(" %s more below.", count(more, "finding"))
		}
		if v.State == Healthy && against[0].Level == Fault {
			v.State = CannotLearn
		}
	case len(at) == 0:
		v.Learning, v.LearningState = "Not judged: the dump has no rewards, advantages or other columns of the update.", Undecided
	default:
		v.Learning, v.LearningState = "No fault found in what was looked at: "+strings.Join(at, ", ")+".", Note
	}
}
