package diagnose

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"unicode/utf8"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/results/stability"
	"driftlab/results/stats/passk"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe/foreign"
)

// Options are what a dump does not say of itself. 0 is unknown.
type Options struct {
	// Format overrules what a file is taken for; empty lets it say so itself.
	Format string
	// TopP and Temperature are the sampling's.
	TopP, Temperature float64
	// Experts is how many experts a layer of the model has, 1 if it is dense: only then is a gap never that of routing.
	Experts int
	// Framework is whose syntax the recommended setting is to be in; empty lets the configuration or the dump say.
	Framework string
	// Config is the configuration of the run's correction, nil if none is given.
	Config *foreign.Config
	// Rates are how often alarms were right, nil if that is not known.
	Rates *stability.Alarms
}

// Analysis takes in dumps and judges them.
type Analysis struct {
	options Options
	inputs  []Input
	scopes  []*scoped
	made    map[string]int // how many scopes there would be, by kind
	index   map[scope]*scoped
	sample  *reservoir
	text    text
	refused []error
	// expertsOf is the text whose model's name says that there are experts.
	expertsOf string
	// collectors see every row.
	collectors []collector

	gap     metrics.Tally
	sums    Gap // of what the tally does not have, over the tokens; TV has |ρ − 1|
	columns struct{ rows, roll, old int }
	flips   flips
	all     view
	thirds  [3]view
}

// scoped are the checks of a scope, with its trained tokens and the responses with such a token.
type scoped struct {
	scope
	gauges           []gauge
	trained, answers int
}

// New starts an analysis.
func New(o Options) *Analysis {
	a := &Analysis{options: o, index: map[scope]*scoped{}, made: map[string]int{}, sample: newReservoir(), collectors: newCollectors()}
	if o.Config != nil {
		for _, s := range o.Config.Settings {
			a.model(s.Value)
		}
	}
	return a
}

// withExperts is the end of a model's name that has its active parameters, such as Qwen3-30B-A3B.
var withExperts = regexp.MustCompile(`(?i)-a[0-9]+(\.[0-9]+)?b([^a-z0-9]|$)`)

// model takes in a text that may name the model: one with active parameters has experts.
func (a *Analysis) model(text string) {
	if a.options.Experts == 0 && withExperts.MatchString(text) {
		a.options.Experts = 2 // at least
		a.expertsOf = text
	}
}

// Read takes in a dump. A file that cannot be read is noted, and an error only the
// end of the whole analysis.
func (a *Analysis) Read(in reader.Input) error {
	a.model(in.Name)
	about, err := reader.Read(in, a.options.Format, func(r *reader.Row) error {
		if r.Step == reader.Unknown {
			r.Step = reader.StepNamed(in.Name)
		}
		a.row(r, in.Name)
		return nil
	})
	if refused, ok := errors.AsType[*reader.Refused](err); ok {
		a.refused = append(a.refused, err)
		err = nil
		about.Damage = append(about.Damage, reader.Damage{Line: 1, Reason: refused.Problem})
		about.Damaged++
	}
	about.Notes = slices.Clone(about.Notes)
	if a.made["env"] > mostEnvs {
		about.Notes = append(about.Notes, fmt.Sprintf("only the first %d environments are judged on their own", mostEnvs))
	}
	if a.made["file"] > mostFiles {
		about.Notes = append(about.Notes, fmt.Sprintf("only the first %d files are judged on their own", mostFiles))
	}
	other := slices.IndexFunc(a.inputs, func(in Input) bool { return in.Format != "" && in.Format != about.Format })
	if about.Format != "" && other >= 0 {
		about.Notes = append(about.Notes, fmt.Sprintf("%s, where %s is %s: one analysis is of one run", about.Format, a.inputs[other].File, a.inputs[other].Format))
	}
	a.inputs = append(a.inputs, inputOf(about))
	return err
}

func (a *Analysis) row(r *reader.Row, file string) {
	a.text.add(r)
	for _, c := range a.collectors {
		c.add(r)
	}
	if r.Trained() == 0 {
		return
	}
	a.columns.rows++
	a.columns.roll += count1(r.Roll != nil)
	a.columns.old += count1(r.Old != nil)
	if r.Roll == nil || r.Old == nil {
		return
	}
	v := &a.all
	v.fill(r, file)
	a.measure(v)
	a.sample.add(v, file)
	a.add(everything, 1, v)
	a.add(scope{"file", file}, mostFiles, v)
	if r.Env != "" {
		a.add(scope{"env", r.Env}, mostEnvs, v)
	}
	for k := range 3 {
		a.thirds[k] = v.third(k)
		a.add(scope{"third", string(rune('1' + k))}, 3, &a.thirds[k])
	}
}

func (a *Analysis) measure(v *view) {
	a.gap.Add(v.old, v.roll, nil)
	a.flips.add(v)
	sums := &a.sums
	sums.NonFinite += len(v.at) - len(v.ok)
	for i, roll := range v.roll {
		d, ratio := v.old[i]-roll, v.ratio[i]
		sums.TV += math.Abs(ratio - 1)
		if math.Abs(d) > overflow {
			ratio = elementary.Exp(d)
		}
		sums.MeanRatio += ratio
		if d < 0 {
			ratio = elementary.Exp(-d)
		}
		sums.MeanExpAbs += ratio
		sums.OutsideHalfToTwo += float64(count1(math.Abs(d) > math.Ln2))
		sums.Clamped += count1(math.Abs(d) > overflow)
	}
}

// mostEnvs and mostFiles are how many environments and files are judged on their own: every one has checks of its own.
const mostEnvs, mostFiles = 64, 1024

// add hands a response, or the part of it that lies in a scope, to the checks of the scope. Only the first scopes of a kind are judged
// on their own.
func (a *Analysis) add(at scope, most int, v *view) {
	s := a.index[at]
	if s == nil {
		if a.made[at.kind]++; a.made[at.kind] > most {
			return
		}
		s = &scoped{scope: at}
		for _, c := range checks {
			s.gauges = append(s.gauges, c.make())
		}
		a.index[at], a.scopes = s, append(a.scopes, s)
	}
	s.trained += len(v.at)
	s.answers += count1(len(v.at) > 0)
	for i, g := range s.gauges {
		if v.whole || !checks[i].whole {
			g.add(v)
		}
	}
}

// Refused are the files that could not be read at all, and why.
func (a *Analysis) Refused() []error { return a.refused }

// judged runs the checks of all scopes: everything first, then the others in the
// order in which they were seen.
func (a *Analysis) judged() []Check {
	parts := byScope(a.sample.inOrder())
	var list []Check
	failed := map[scope]int{} // the first check that failed there
	for at, s := range a.scopes {
		e := &evidence{scoped: s, sample: parts[s.scope], found: map[string]outcome{}, options: a.options}
		if at > 0 && (!e.enough() || s.trained == a.scopes[0].trained) {
			continue // too little, or nothing but everything once more
		}
		for i, c := range checks {
			o := outcome{}
			switch {
			case s.kind == "third" && c.whole:
				continue
			case i > 0 && !e.enough():
				o = notApplicable("too few tokens")
			case slices.ContainsFunc(c.unless, e.failed):
				o = notApplicable(unlessWhy[c.unless[slices.IndexFunc(c.unless, e.failed)]])
			default:
				o = s.gauges[i].judge(e)
			}
			e.found[c.id] = o
			if first, already := failed[s.scope]; o.result == Fail && (!already || i < first) {
				failed[s.scope] = i
			}
			reference := the.Checks[c.id]
			if o.result == NotApplicable {
				reference = nil
			}
			if at == 0 || o.result == Fail || o.result == Watch {
				list = append(list, Check{ID: c.id, Scope: s.String(), Value: o.value, Limit: c.limit, Result: o.result, Why: o.why, Reference: reference,
					at: i, scope: s.scope, family: c.family, fix: o.fix})
			}
		}
	}
	for i := range list {
		c := &list[i]
		for at, first := range failed { // other scopes of one kind share no token
			c.Conditional = c.Conditional || first < c.at && (at == c.scope || at.kind != c.scope.kind)
		}
	}
	return list
}

// missing says which column no row has and what to do about it, empty if both are there.
func (a *Analysis) missing() (what, next string) {
	const both, again = "dump log-probs of both engines, in a format with tokens or in the neutral one", "find out what is wrong with the files, and dump again"
	c := a.columns
	switch {
	case c.rows == 0 && a.text.rows == 0:
		return "no complete row", again
	case c.rows == 0 && a.text.characters.n > 0:
		return "text without log-probs", both
	case c.rows == 0:
		return "no trained token", "check the loss mask: it is empty"
	case c.roll == 0 && c.old == 0:
		return "no log-probs at all", both
	case c.roll == 0:
		return "no log-probs of the rollout engine", both
	case c.old == 0:
		return "no log-probs of the learner", "give the file that has the learner's log-probs, too: for slime that is train_data next to rollout_data; experiments/diagnose/LOGGING.md has lines that log them in other frameworks"
	case len(a.scopes) == 0:
		return "no row with the log-probs of both engines", again
	}
	return "", ""
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

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

	id        []int32   // nil if the dump has none
	again     []uint8   // how the id has occurred before, nil if there are no ids
	flipped   []bool    // other experts computed it, in any layer; nil unless both engines' routes were recorded
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
		k.control[i] = pick(c.of(v.row), v.ok[:n])
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
	k.id, k.again = pick(v.row.Token, v.ok[:n]), occurrences(v.row.Prompt, v.row.Token, v.ok[:n])
	for _, at := range v.ok[:n] {
		if v.row.Flips != nil {
			k.flipped = append(k.flipped, v.row.Flipped(at))
		}
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
		for third := range 3 {
			n := len(k.roll)
			from, to := (third*n+2)/3, (third*n+n+2)/3
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
	for i := range masked.Kept(row.Mask) {
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

// text is what can be said of rows without their log-probs: lengths, rewards, lag.
type text struct {
	rows int
	// Of the responses that have it: the length of the text, the reward, the lag, and what lies between the first and the last version.
	characters, reward, lag, span average

	prompts map[uint64]*passk.Tally // the attempts at each
	lengths map[int]*masked.Running // by step, of the last growthSteps
	last    int                     // the greatest step
}

// mostPrompts bounds how many prompts are distinguished.
const mostPrompts = 1 << 18

func (t *text) add(r *reader.Row) {
	t.rows++
	if n := r.Trained(); n > 0 && r.Step != reader.Unknown {
		entry(&t.lengths, r.Step, math.MaxInt).Add(float64(n))
		t.last = max(t.last, r.Step)
		if len(t.lengths) > 2*growthSteps { // those that growth cannot compare with the last one
			maps.DeleteFunc(t.lengths, func(step int, _ *masked.Running) bool { return step < t.last-growthSteps })
		}
	}
	if r.Text != "" {
		t.characters.add(float64(utf8.RuneCountInString(r.Text)))
	}
	if r.Head != reader.Unknown && r.Tail != reader.Unknown {
		t.span.add(float64(r.Tail - r.Head))
	}
	if lag := lagOf(r); lag >= 0 {
		t.lag.add(float64(lag))
	}
	if math.IsNaN(r.Reward) {
		return
	}
	t.reward.add(r.Reward)
	h := promptOf(r)
	if h == 0 {
		return
	}
	at := entry(&t.prompts, h, mostPrompts)
	if at == nil {
		return
	}
	at.Samples++
	if right := r.Reward > 0; math.IsNaN(r.Acc) && right || r.Acc > 0.5 {
		at.Correct++
	}
}

// promptOf is a hash of a prompt, 0 if it is not known.
func promptOf(r *reader.Row) uint64 {
	switch {
	case len(r.Prompt) > 0:
		return hashIDs(hashStart, r.Prompt)
	case r.PromptText != "":
		return hashText(r.PromptText)
	}
	return 0
}

// Responses is what is known of the responses in addition to their log-probs.
type Responses struct {
	// Rows are those that were complete; Characters the mean length of their text.
	Rows       int     `json:"rows"`
	Characters float64 `json:"characters,omitempty"`
	// Reward is the mean reward, Prompts how many there are, and Solved the share of those
	// with a positive reward in any attempt: pass@k for k attempts at each.
	Reward  *float64 `json:"reward,omitempty"`
	Prompts int      `json:"prompts,omitempty"`
	Solved  *float64 `json:"solved,omitempty"`
	// PassAt has pass@k for k = 1, 2, 4 and so on, as far as every prompt has attempts; absent where prompts have one.
	PassAt []PassAt `json:"pass_at,omitempty"`
	// Lag is the mean number of updates from the weights that sampled to those that learn, Span that of versions inside a response.
	Lag  *float64 `json:"lag,omitempty"`
	Span *float64 `json:"version_span,omitempty"`
	// Growth is how the length grows, absent where there is one step, or one of few responses.
	Growth *Growth `json:"growth,omitempty"`
}

// PassAt is the mean probability over prompts that one of k attempts is right: without bias, and as it reads if k attempts are
// drawn with replacement from those that were made.
type PassAt struct {
	K               int     `json:"k"`
	Unbiased        float64 `json:"unbiased"`
	WithReplacement float64 `json:"with_replacement"`
}

// passAt is worked out of the attempts at all prompts.
func (t *text) passAt() (list []PassAt) {
	least := math.MaxInt
	var tallies []passk.Tally
	for _, at := range t.prompts { // sums of a few values each: the counts below decide their order
		tallies = append(tallies, *at)
		least = min(least, at.Samples)
	}
	slices.SortFunc(tallies, func(a, b passk.Tally) int { return cmp.Or(a.Samples-b.Samples, a.Correct-b.Correct) })
	for k := 1; len(tallies) > 0 && least > 1 && k <= least; k *= 2 {
		drawn := 0.0
		for _, x := range tallies {
			drawn += passk.PlugIn(x.Samples, x.Correct, k)
		}
		list = append(list, PassAt{k, passk.Mean(tallies, k), drawn / float64(len(tallies))})
	}
	return list
}

// graded are findings on a dump of text alone: what its rewards say.
func (s *Responses) graded() []Finding {
	if len(s.PassAt) == 0 {
		if s.Reward == nil {
			return nil
		}
		return learns("rewards", Note, "", "mean reward %.3g of %s to %s", *s.Reward, count(s.Rows, "response"), count(s.Prompts, "prompt"))
	}
	text := fmt.Sprintf("%s, %.3g answers each: mean@%d %.3f", count(s.Prompts, "problem"), float64(s.Rows)/float64(s.Prompts), s.PassAt[len(s.PassAt)-1].K, s.PassAt[0].Unbiased)
	for _, p := range s.PassAt {
		text += fmt.Sprintf(", pass@%d %.3f", p.K, p.Unbiased)
	}
	last := s.PassAt[len(s.PassAt)-1]
	return learns("pass-at-k", Note, "", "%s (unbiased); best@%d drawn with replacement reads %.3f: a problem with c of n answers right is missed by (1 - c/n)^%[2]d of such draws", text, last.K, last.WithReplacement)
}

// Growth is how the mean number of trained tokens of a response has changed from the first
// of the last hundred steps to the last.
type Growth struct {
	From   int     `json:"from"`
	To     int     `json:"to"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	// Error is the standard error of the difference.
	Error float64 `json:"error"`
}

// growthSteps is the survey's interval.
const growthSteps = 100

// growth compares the last step with the first one within growthSteps before it.
func (t *text) growth() *Growth {
	steps := slices.Sorted(maps.Keys(t.lengths))
	for _, from := range steps {
		to := steps[len(steps)-1]
		a, b := t.lengths[from], t.lengths[to]
		if from == to || to-from > growthSteps || min(a.N, b.N) < leastResponses {
			continue
		}
		sa, sb := a.Deviation(), b.Deviation()
		return &Growth{from, to, a.Mean, b.Mean, math.Sqrt(float64(sa*sa)/float64(a.N) + float64(sb*sb)/float64(b.N))}
	}
	return nil
}

func (t *text) summary() Responses {
	s := Responses{Rows: t.rows, Characters: t.characters.mean(), Reward: t.reward.known(), Prompts: len(t.prompts),
		PassAt: t.passAt(), Lag: t.lag.known(), Span: t.span.known(), Growth: t.growth()}
	if len(t.prompts) > 0 {
		solved := 0
		for _, at := range t.prompts { // counted, in any order
			solved += count1(at.Correct > 0)
		}
		s.Solved = new(share(solved, len(t.prompts)))
	}
	return s
}

// Shown is a part of a response that shows the gap well, for the eye.
type Shown struct {
	// Title says which response it is, and of what size its gap is.
	Title  string
	Tokens []ShownToken
}

// ShownToken is a token with what both engines make of it. ID is -1 where the dump has none.
type ShownToken struct {
	ID         int32
	Roll, Old  float64
	Place      int     // among the trained tokens of the response
	Difference float64 // old - roll
}

// How much is shown.
const (
	shownResponses = 3
	shownTokens    = 160
)

// Shown are the responses of the sample with the largest mean |d| of a stretch, the
// largest first: that stretch of each.
func (a *Analysis) Shown() []Shown {
	rows := a.sample.inOrder()
	type stretch struct {
		k        *kept
		from, to int
		size     float64
	}
	var list []stretch
	for _, k := range rows {
		s := stretch{k: k, to: min(shownTokens, len(k.roll)), size: -1}
		sum := 0.0
		for n := range k.roll {
			sum += size(k, n)
			if n >= shownTokens {
				sum -= size(k, n-shownTokens)
			}
			if from := max(0, n+1-shownTokens); (n+1 == len(k.roll) || n+1 >= shownTokens) && sum > s.size {
				s.from, s.to, s.size = from, n+1, sum
			}
		}
		s.size /= float64(s.to - s.from)
		list = append(list, s)
	}
	enough := func(s stretch) int { return count1(s.to-s.from >= 20) } // a handful of tokens shows nothing
	slices.SortStableFunc(list, func(x, y stretch) int {
		return cmp.Or(enough(y)-enough(x), cmp.Compare(y.size, x.size))
	})
	var shown []Shown
	for _, s := range list[:min(shownResponses, len(list))] {
		view := Shown{Title: fmt.Sprintf("Response %d, tokens %d to %d of %d: mean |d| %.2g", s.k.number, s.from+1, s.to, len(s.k.roll), s.size)}
		for n := s.from; n < s.to; n++ {
			t := ShownToken{ID: -1, Roll: s.k.roll[n], Old: s.k.old[n], Place: n, Difference: s.k.old[n] - s.k.roll[n]}
			if s.k.id != nil {
				t.ID = s.k.id[n]
			}
			view.Tokens = append(view.Tokens, t)
		}
		shown = append(shown, view)
	}
	return shown
}

// size is what a token adds: |d|, which one wild token cannot make everything of.
func size(k *kept, n int) float64 { return min(2, math.Abs(k.old[n]-k.roll[n])) }
