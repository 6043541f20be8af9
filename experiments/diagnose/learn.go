package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
	"driftlab/trainer/method/masked"
)

// answer is what the checks of learning keep of a response.
type answer struct {
	number, step, length, lag int
	group                     uint64 // of the step and the group's id, or its prompt; 0 if neither is known
	reward, acc               float64
	// advantage is the one that all trained tokens have, NaN if they differ or none is recorded; largest is the one of the
	// greatest size, NaN if none is recorded.
	advantage, largest float64
	cut                bool // it ended at the cap
	said               bool // why it ended is recorded
}

// byGroup orders responses by a hash of their group, or of their number where none is known, and within a group by one of their number.
func byGroup(x, y answer) int {
	a, b := hashIDs(hashStart, []int32{int32(x.number)}), hashIDs(hashStart, []int32{int32(y.number)})
	return cmp.Or(cmp.Compare(cmp.Or(x.group, a), cmp.Or(y.group, b)), cmp.Compare(a, b))
}

// answers keeps responses for the checks that compare them.
type answers struct {
	list   []answer
	number int     // of responses seen
	below  *answer // which those that are kept come before, nil while all are
}

// mostAnswers is how many responses are kept, some 20 MB. Beyond, the half that comes first by group stays: nearly all of its groups are whole.
const mostAnswers = 1 << 18

// keep takes a response in, and drops half where these are too many.
func (a *answers) keep(x answer, most int) {
	if a.below != nil && byGroup(x, *a.below) >= 0 {
		return
	}
	if a.list = append(a.list, x); len(a.list) <= most {
		return
	}
	slices.SortFunc(a.list, byGroup)
	half := len(a.list) / 2
	a.below = new(a.list[half])
	a.list = a.list[:half]
	slices.SortFunc(a.list, func(x, y answer) int { return x.number - y.number })
}

func (a *answers) add(r *reader.Row) {
	a.number++
	x := answer{number: a.number, step: r.Step, lag: lagOf(r), reward: r.Reward, acc: r.Acc, advantage: math.NaN(), largest: math.NaN(), said: r.Finish != "", cut: r.Finish == "length"}
	if !math.IsNaN(r.Lag) {
		x.lag = int(r.Lag)
	}
	if r.Group != reader.Unknown {
		x.group = hashIDs(hashStart, []int32{int32(r.Step), int32(r.Group)})
	} else if prompt := promptOf(r); prompt != 0 {
		x.group = hashIDs(prompt, []int32{int32(r.Step)})
	}
	first := true
	for i := range masked.Kept(r.Mask) {
		x.length++
		if r.Advantage == nil || !isFinite(r.Advantage[i]) {
			continue
		}
		one := r.Advantage[i]
		if first {
			x.advantage, x.largest, first = one, one, false
		} else if abs(one-x.advantage) > 1e-6*abs(x.advantage) || math.IsNaN(x.advantage) {
			x.advantage = math.NaN()
		}
		if abs(one) > abs(x.largest) {
			x.largest = one
		}
	}
	if x.length == 0 && r.Text == "" {
		return
	}
	a.keep(x, mostAnswers)
}

type rated struct {
	list   []answer
	reward moments1 // of the rewards
}

// moments1 are the mean and the standard deviation of one list; moments are of two.
type moments1 struct{ mean, deviation float64 }

func momentsOf(x []float64) moments1 {
	n := float64(max(len(x), 1))
	sum, squares := total(x), 0.0
	for _, v := range x {
		squares += float64((v - sum/n) * (v - sum/n))
	}
	return moments1{sum / n, math.Sqrt(squares / n)}
}

// equalTo is the spread below which the numbers of a group are equal, but for their last digits.
const equalTo = 1e-6

// groups have at least two responses, and the order of their first one.
func (a *answers) groups() []rated {
	at := map[uint64]int{}
	var list []rated
	for _, x := range a.list {
		if x.group == 0 || math.IsNaN(x.reward) {
			continue
		}
		i, known := at[x.group]
		if !known {
			i = len(list)
			at[x.group], list = i, append(list, rated{})
		}
		list[i].list = append(list[i].list, x)
	}
	list = slices.DeleteFunc(list, func(g rated) bool { return len(g.list) < 2 })
	for i := range list {
		list[i].reward = momentsOf(valuesOf(list[i].list, func(x answer) float64 { return x.reward }))
	}
	return list
}

// valuesOf are figures of a list without those that were not recorded.
func valuesOf[T any](list []T, of func(T) float64) []float64 {
	return slices.DeleteFunc(stats.Map(list, of), func(v float64) bool { return !isFinite(v) })
}

type learning struct {
	*answers
	o          *Options
	groups     []rated
	advantages []float64 // the largest of each response
	rewards    []float64
	lengths    lengths
}

// answerChecks are the checks that compare responses. The first that finds a fault of its kind explains the others.
var answerChecks = []func(l *learning) []Finding{(*learning).nothing, (*learning).spikes, (*learning).stride, (*learning).order, (*learning).phantom, (*learning).capped, (*learning).lags}

func (a *answers) findings(o *Options) (found []Finding, columns []looked) {
	l := &learning{answers: a, o: o, groups: a.groups(),
		advantages: valuesOf(a.list, func(x answer) float64 { return x.largest }),
		rewards:    valuesOf(a.list, func(x answer) float64 { return x.reward })}
	l.lengths = l.atCap()
	for _, c := range answerChecks {
		found = append(found, c(l)...)
	}
	if len(found) > 0 && found[0].ID == "advantages-zero" { // says so of the cap, too
		found = slices.DeleteFunc(found, func(f Finding) bool { return f.ID == "length-cap" })
	}
	return found, a.columns()
}

func (a *answers) columns() []looked {
	has := func(of func(answer) bool) bool { return slices.ContainsFunc(a.list, of) }
	return []looked{
		{"rewards", has(func(x answer) bool { return isFinite(x.reward) })},
		{"advantages", has(func(x answer) bool { return isFinite(x.largest) })},
		{"groups", has(func(x answer) bool { return x.group != 0 })},
		{"accuracy", has(func(x answer) bool { return isFinite(x.acc) })},
		{"finish reasons", has(func(x answer) bool { return x.said })},
		{"lag", has(func(x answer) bool { return x.lag >= 0 })},
	}
}

func learns(id string, level Level, next, format string, args ...any) []Finding {
	return []Finding{{ID: id, Topic: Learning, Level: level, Text: fmt.Sprintf(format, args...), Next: next}}
}

// nothing finds batches whose advantages are all 0, or would be.
func (l *learning) nothing() []Finding {
	equal := len(l.rewards) > 1 && slices.Max(l.rewards)-slices.Min(l.rewards) < equalTo
	zero := countOf(l.advantages, func(x float64) bool { return abs(x) < equalTo })
	next := "choose problems of which the model solves some and not all, and look at the grader's answers"
	reason := ""
	if equal {
		reason = fmt.Sprintf(", and every reward is %.3g", l.rewards[0])
	}
	if c := l.lengths; c.share() >= mostCut {
		reason += fmt.Sprintf("; %s", c)
		next = "raise the length limit: the responses are cut before they end"
	}
	switch n := len(l.advantages); {
	case n > 0 && zero == n:
		return learns("advantages-zero", Fault, next, "nothing can be learned: all advantages are 0 in %s%s", count(n, "response"), reason)
	case n == 0 && equal && len(l.rewards) >= leastResponses:
		return learns("rewards-equal", Fault, next, "nothing can be learned by comparison within groups: the rewards of %s are all equal%s", count(len(l.rewards), "response"), strings.Replace(reason, ", and every reward is", ", at", 1))
	case n > 0 && equal && n >= leastResponses:
		return learns("rewards-equal", Warning, "make sure that the advantages are of these rewards", "every reward is %.3g, and %d of %d responses have an advantage that is not 0: the advantages are not made of these rewards", l.rewards[0], n-zero, n)
	}
	if idle := countOf(l.groups, func(g rated) bool { return g.reward.deviation < equalTo }); idle > 0 {
		return learns("groups-equal", Note, "", "in %d of %s all rewards are equal: a group baseline leaves these without an advantage", idle, count(len(l.groups), "group"))
	}
	return nil
}

const (
	// spikeFrom is how far an advantage must be above both that of its reward in units of the group's deviation and that in
	// units of the reward, each relative to the median of the dump. Of a division by the deviation the first is 1
	// throughout, of none the second. The deviation of the others is a thirtieth of the group's only where they are all but equal.
	spikeFrom = 30
	// wildFrom is the same without rewards, in medians of what is not 0. The advantage of a single response in a group of n
	// is n - 1 times those of the others: no run samples a thousand.
	wildFrom = 1000
)

// spikes finds advantages that neither the reward nor the group explains.
func (l *learning) spikes() []Finding {
	next := "guard the deviation: do not divide by it where it is near 0 (a floor such as 1e-2, or the group's own in the place of the leave-one-out one)"
	if key := l.o.setting("use_leave_one_out_baseline", "leave_one_out"); key != "" {
		next += "; " + key + " makes the deviation that of the other responses"
	}
	type implied struct{ size, byDeviation, byReward, off float64 } // off: the reward from the mean of the others
	var list []implied
	for _, g := range l.groups {
		n := float64(len(g.list))
		for _, x := range g.list {
			if off := abs(x.reward - g.reward.mean); g.reward.deviation >= equalTo && off >= equalTo && isFinite(x.largest) {
				list = append(list, implied{abs(x.largest), abs(x.largest) * g.reward.deviation / off, abs(x.largest) / off, (x.reward - g.reward.mean) * n / (n - 1)})
			}
		}
	}
	byDeviation := spikeFrom * medianOf(valuesOf(list, func(x implied) float64 { return x.byDeviation }))
	byReward := spikeFrom * medianOf(valuesOf(list, func(x implied) float64 { return x.byReward }))
	var spikes []implied
	rest := 0.0
	for _, x := range list {
		if x.byDeviation > byDeviation && x.byReward > byReward {
			spikes = append(spikes, x)
		} else {
			rest = max(rest, x.size)
		}
	}
	if len(spikes) > 0 {
		worst := slices.MaxFunc(spikes, func(a, b implied) int { return cmp.Compare(a.size, b.size) })
		return learns("advantage-spike", Fault, next, "%d of %s %s |advantage| up to %s, the others at most %.2g; the reward of the worst is %.2g from the mean of its group's others: the deviation it is divided by is near 0",
			len(spikes), count(len(l.advantages), "response"), map[bool]string{true: "has", false: "have"}[len(spikes) == 1], thousands(worst.size), rest, worst.off)
	}
	if len(list) > 0 {
		return nil
	}
	sizes := slices.DeleteFunc(stats.Each(l.advantages, abs), func(size float64) bool { return size <= equalTo })
	if len(sizes) < leastResponses {
		return nil
	}
	typical := medianOf(slices.Clone(sizes))
	n := countOf(sizes, func(x float64) bool { return x > wildFrom*typical })
	if n == 0 {
		return nil
	}
	return learns("advantage-spike", Fault, next, "%d of %s have |advantage| up to %s, where the median is %.2g", n, count(len(l.advantages), "response"), thousands(slices.Max(sizes)), typical)
}

// thousands is a number with commas from 1,000 on, with three digits below.
func thousands(x float64) string {
	if x < 1000 || x > 1e15 {
		return fmt.Sprintf("%.3g", x)
	}
	text := strconv.FormatFloat(math.Trunc(x), 'f', 0, 64)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

const (
	// centred is how near the mean of advantages is to 0, in their deviation, where their baseline is the mean of these rewards.
	centred = 1e-3
	// strideShare is the share of parts, and of groups, that must agree. Of equal groups in order both ways are the same.
	strideShare = 0.9
)

// stride finds advantages whose baseline is of a fixed number of rows each, where groups have fewer: the mean of the advantages is 0
// within each part of the fixed size, and not within the groups.
func (l *learning) stride() []Finding {
	if l.below != nil || len(l.groups) < 3 {
		return nil
	}
	size := len(slices.MaxFunc(l.groups, func(a, b rated) int { return len(a.list) - len(b.list) }).list)
	balanced := func(list []answer) (is, known bool) {
		x := valuesOf(list, func(x answer) float64 { return x.advantage })
		m := momentsOf(x)
		if len(x) < len(list) || m.deviation < equalTo && abs(m.mean) < equalTo {
			return false, false
		}
		return abs(m.mean) <= centred*m.deviation, true
	}
	own, ownOf, parts, partsOf := 0, 0, 0, 0
	for _, g := range l.groups {
		if is, known := balanced(g.list); known {
			ownOf++
			own += count1(is)
		}
	}
	for from := 0; from < len(l.list); {
		to := from
		for to < len(l.list) && to < from+size && l.list[to].step == l.list[from].step {
			to++
		}
		if is, known := balanced(l.list[from:to]); known && to-from > 1 {
			partsOf++
			parts += count1(is)
		}
		from = to
	}
	if partsOf < 3 || share(parts, partsOf) < strideShare || share(own, ownOf) > 1-float64(1-strideShare)*2 {
		return nil
	}
	return learns("groups-by-stride", Fault, "group by the prompt's id, not by position: drop or fill partial groups before the baseline",
		"the advantages of %d of %s do not have mean 0, and those of %d of %d parts of %d successive rows do: groups are cut by position, although some have fewer responses",
		ownOf-own, count(ownOf, "group"), parts, partsOf, size)
}

const (
	// disorder is the share of a group's pairs in which the greater reward has the smaller advantage, from which the
	// two do not belong together: half of what chance makes. leastOrdered is how many groups must show it, and orderErrors how
	// many standard errors their mean must be above harmlessDisorder, which penalties that the reward leaves out make.
	disorder, harmlessDisorder = 0.25, 0.1
	leastOrdered               = 3
	orderErrors                = 3
)

// order finds advantages that do not rise with the reward within a group.
func (l *learning) order() []Finding {
	var shares []float64
	for _, g := range l.groups {
		wrong, pairs := 0, 0
		for i, x := range g.list[:min(len(g.list), fewPairs)] {
			for _, y := range g.list[:i] {
				dr, da := x.reward-y.reward, x.advantage-y.advantage
				if abs(dr) < equalTo || !(abs(da) > equalTo) {
					continue
				}
				pairs++
				wrong += count1(dr > 0 != (da > 0))
			}
		}
		if pairs > 0 {
			shares = append(shares, share(wrong, pairs))
		}
	}
	if len(shares) < leastOrdered {
		return nil
	}
	m := momentsOf(shares)
	if m.mean < disorder || m.mean-orderErrors*m.deviation/math.Sqrt(float64(len(shares))) < harmlessDisorder {
		return nil
	}
	what := "rewards and advantages are of different rows"
	if m.mean > 1-disorder {
		what = "the sign of the advantages is turned"
	}
	return learns("advantage-order", Fault, "make sure that rewards and advantages are logged in the same order, and that the sign is right",
		"in %.0f %% of the pairs within %s the greater reward has the smaller advantage: %s", 100*m.mean, count(len(shares), "group"), what)
}

const (
	// phantomFrom and phantomMost are the shares of the groups with an advantage in which none is right, from which that is
	// said, and from which the update is mostly of them. Where the pass rate is 20 % a sixth of the groups of eight have none.
	phantomFrom, phantomMost = 0.25, 0.5
	// leastGroups is how many groups a share must be of.
	leastGroups = 5
)

// phantom finds groups without a right answer whose advantages are of full size.
func (l *learning) phantom() []Finding {
	none, graded := 0, 0
	var without, with []float64
	for _, g := range l.groups {
		acc := valuesOf(g.list, func(x answer) float64 { return x.acc })
		own := valuesOf(g.list, func(x answer) float64 { return x.advantage })
		if len(acc) < len(g.list) || len(own) < len(g.list) {
			continue
		}
		size := 0.0
		for _, x := range own {
			size += abs(x) / float64(len(own))
		}
		if size < equalTo {
			continue
		}
		graded++
		if slices.Max(acc) == 0 {
			none++
			without = append(without, size)
		} else {
			with = append(with, size)
		}
	}
	if graded < leastGroups || share(none, graded) < phantomFrom {
		return nil
	}
	size, other := momentsOf(without).mean, momentsOf(with).mean
	if size < other/2 {
		return nil
	}
	level := Warning
	if share(none, graded) >= phantomMost {
		level = Fault
	}
	next := "filter groups on acc, or give the shaped part of the reward no advantage where no answer is right"
	if key := l.o.setting("filter_groups.metric"); key != "" {
		next = "filter groups on acc: " + key + " keeps them"
	}
	compared := fmt.Sprintf("as large as elsewhere (mean %.2g, elsewhere %.2g)", size, other)
	if len(with) == 0 {
		compared = fmt.Sprintf("of full size (mean %.2g)", size)
	}
	return learns("no-right-answer", level, next, "in %d of %s acc is 0 throughout and |advantage| is %s: the shaped part of the reward, such as the length, decides", none, count(graded, "group"), compared)
}

// lengths are how many responses end at the cap.
type lengths struct {
	cut, of, length int
	said            bool // finish reasons say so
}

func (c lengths) share() float64 { return share(c.cut, c.of) }

// String is a clause.
func (c lengths) String() string {
	if c.said {
		return fmt.Sprintf("%.0f %% of the responses ended at the length limit", 100*c.share())
	}
	return fmt.Sprintf("%.0f %% of the responses have the greatest length, %d tokens", 100*c.share(), c.length)
}

const (
	// mostCut is the share of responses at the cap from which most of what is learned is of cut answers.
	mostCut = 0.5
	// leastCap is the shortest length that is taken for a cap if no finish reason is recorded: short answers are of few lengths.
	leastCap = 32
)

// atCap counts responses that ended at the cap: by their finish reasons, or where there are none by their lengths, unless all
// are equal and nothing says that there is a cap.
func (l *learning) atCap() (c lengths) {
	for _, x := range l.list {
		c.of++
		c.cut += count1(x.cut)
		c.said = c.said || x.said
		c.length = max(c.length, x.length)
	}
	if c.said {
		return c
	}
	c.cut = countOf(l.list, func(x answer) bool { return x.length == c.length })
	if c.length < leastCap || c.cut == c.of || c.of < leastResponses {
		c.cut = 0
	}
	return c
}

// capped finds batches of responses that did not end.
func (l *learning) capped() []Finding {
	if l.lengths.share() < mostCut {
		return nil
	}
	return learns("length-cap", Warning, "raise the length limit, or mask what is cut", "%s: most answers are cut before they end", l.lengths)
}

// lagKeys are the configuration's keys for the greatest lag, by their last part.
var lagKeys = []string{"max_head_offpolicyness", "max_staleness_steps", "max_trajectory_age_steps", "max_off_policy_steps", "max_async_level", "max_staleness"}

// lags compares the recorded lag of each step with the configured bound.
func (l *learning) lags() []Finding {
	most := map[int]int{}
	for _, x := range l.list {
		if x.lag >= 0 && x.step != reader.Unknown {
			most[x.step] = max(most[x.step], x.lag)
		}
	}
	steps := slices.Sorted(maps.Keys(most))
	if len(steps) == 0 {
		return nil
	}
	key, bound := l.o.number(lagKeys...)
	over := slices.IndexFunc(steps, func(s int) bool { return key != "" && float64(most[s]) > bound })
	table, greatest := runs(steps, most), slices.Max(slices.Collect(maps.Values(most)))
	switch {
	case over >= 0:
		next := "drop what is older than the bound, or ask the trainer why it does not"
		if over > 0 {
			next = fmt.Sprintf("find out what happened before step %d: after a resume, the counter of accepted samples was not restored; drop what is older than the bound", steps[over])
		}
		return learns("lag-bound", Fault, next,
			"the recorded lag exceeds the configured bound %s = %v from step %d on, up to %d: greatest lag by step %s", key, bound, steps[over], greatest, table)
	case greatest > 0:
		return learns("lag", Note, "", "greatest recorded lag by step: %s", table)
	}
	return nil
}

// shownSteps is how many parts a table of steps in a line has.
const shownSteps = 12

// runs is a table in a line, of steps with equal numbers together: 2-3: 1, 4: 2.
func runs(steps []int, value map[int]int) string {
	var parts []string
	for i := 0; i < len(steps); {
		j := i
		for j+1 < len(steps) && value[steps[j+1]] == value[steps[i]] {
			j++
		}
		name := strconv.Itoa(steps[i])
		if j > i {
			name += "-" + strconv.Itoa(steps[j])
		}
		parts = append(parts, fmt.Sprintf("%s: %d", name, value[steps[i]]))
		i = j + 1
	}
	if len(parts) > shownSteps {
		parts = append(append(parts[:shownSteps/2:shownSteps/2], "..."), parts[len(parts)-shownSteps/2:]...)
	}
	return strings.Join(parts, ", ")
}

// setting is the first key of the configuration, as key = value, that ends in one of these.
func (o *Options) setting(ends ...string) string {
	if o.Config == nil {
		return ""
	}
	for _, s := range o.Config.Settings {
		for _, end := range ends {
			if s.Key == end || strings.HasSuffix(s.Key, "."+end) || strings.HasSuffix(strings.ReplaceAll(s.Key, "-", "_"), end) {
				return s.Key + " = " + s.Value
			}
		}
	}
	return ""
}

// number is the first key of the configuration that ends in one of these and has a number, with it.
func (o *Options) number(ends ...string) (key string, value float64) {
	key, text, _ := strings.Cut(o.setting(ends...), " = ")
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return "", 0
	}
	return key, value
}

// movedTokens compares the training forward with the log-probs before the update.
type movedTokens struct {
	n, outside, differ int
	k3, roll           float64
}

func (c *movedTokens) add(r *reader.Row) {
	for i := range masked.Kept(r.Mask) {
		if r.New == nil || r.Old == nil || !isFinite(r.New[i]) || !isFinite(r.Old[i]) {
			continue
		}
		d := r.New[i] - r.Old[i]
		c.n++
		c.differ += count1(d != 0)
		c.outside += count1(abs(elementary.Expm1(min(d, overflow))) > clipWidth)
		c.k3 += k3Of(d)
		if r.Roll != nil && isFinite(r.Roll[i]) {
			c.roll += k3Of(r.Old[i] - r.Roll[i])
		}
	}
}

func (c *movedTokens) findings(o *Options) (found []Finding, columns []looked) {
	columns = []looked{{"log-probs of the training forward", c.n > 0}}
	if c.differ == 0 {
		return nil, columns
	}
	once := false
	if o.Config != nil {
		if run, err := o.Config.Recipe(); err == nil {
			once = run.Learner.Updates() == 1
		}
	}
	measured := fmt.Sprintf("old and new differ: k3 %.2g, %.3g %% of the tokens outside 1 ± %v", c.k3/float64(c.n), 100*share(c.outside, c.n), clipWidth)
	switch {
	case once && c.outside > 0 && (c.k3 > c.roll || c.roll == 0):
		return learns("not-batch-invariant", Fault, "give both passes the same micro-batch size and packing, or use batch-invariant kernels; until then use the training forward as old",
			"%s, although the configuration makes one update per batch: the trainer is not batch-invariant, and the clip fraction is noise", measured), columns
	case once:
		return learns("not-batch-invariant", Note, "", "%s, although the configuration makes one update per batch: less than the engines differ by", measured), columns
	case c.outside > 0:
		return learns("old-new", Note, "", "%s: either several updates per batch, or a trainer that is not batch-invariant (--config says which)", measured), columns
	}
	return nil, columns
}

// topKL is how many tokens of the largest KL from the reference are kept.
const topKL = 8

// referenceKL measures the divergence from the reference model and where it sits.
type referenceKL struct {
	n          int
	k1, k2, k3 float64
	responses  int
	top        []klToken // the largest, the largest first
}

type klToken struct {
	ratio, k3          float64
	step, response, at int
	id                 int32
}

// largestK3 is where verl clamps k3 of a token.
const largestK3 = 10

func (c *referenceKL) add(r *reader.Row) {
	c.responses++
	policy := r.Old
	if policy == nil {
		policy = r.New
	}
	if r.Ref == nil || policy == nil {
		return
	}
	for i := range masked.Kept(r.Mask) {
		ratio := r.Ref[i] - policy[i]
		if !isFinite(ratio) {
			continue
		}
		t := klToken{ratio, elementary.Expm1(min(ratio, 700)) - ratio, r.Step, c.responses, i, -1}
		if r.Token != nil {
			t.id = r.Token[i]
		}
		c.n++
		c.k1 -= ratio
		c.k2 += float64(ratio * ratio / 2)
		c.k3 += t.k3
		if at, _ := slices.BinarySearchFunc(c.top, t, func(a, b klToken) int { return cmp.Compare(b.k3, a.k3) }); at < topKL {
			c.top = slices.Insert(c.top, at, t)
			c.top = c.top[:min(len(c.top), topKL)]
		}
	}
}

func (c *referenceKL) findings(*Options) (found []Finding, columns []looked) {
	columns = []looked{{"reference log-probs", c.n > 0}}
	if c.n == 0 {
		return nil, columns
	}
	n := float64(c.n)
	sizes := fmt.Sprintf("k1 %.3g, k2 %.3g, k3 %.3g on average", c.k1/n, c.k2/n, c.k3/n)
	few, sum, lost := 0, 0.0, 0.0 // the fewest that hold nine tenths
	for few < len(c.top) && c.top[few].k3 > largestK3 && sum < 0.9*c.k3 {
		sum += c.top[few].k3
		lost += float64(c.top[few].ratio * c.top[few].ratio / 2)
		few++
	}
	if few == 0 || sum < c.k3/2 {
		return learns("reference-kl", Note, "", "KL to the reference: %s", sizes), columns
	}
	f := learns("reference-kl-outlier", Fault, "clamp the log-ratio to the reference (verl clamps k3 of a token at 10), or use k1 or k2 in the penalty; look at what the reference makes of this token",
		"%s of %s hold%s %.0f %% of the k3 to the reference, the largest e^%.1f: %s; without %s k2 is %.2g",
		count(few, "token"), thousands(n), map[bool]string{true: "s"}[few == 1], 100*sum/c.k3, c.top[0].ratio, sizes, map[bool]string{true: "it", false: "them"}[few == 1], (c.k2-lost)/n)
	f[0].Where = fmt.Sprintf("response %d, token %d", c.top[0].response, c.top[0].at+1)
	if c.top[0].id >= 0 {
		f[0].Where += fmt.Sprintf(", id %d", c.top[0].id)
	}
	if c.top[0].step != reader.Unknown {
		f[0].Where += fmt.Sprintf(", step %d", c.top[0].step)
	}
	return f, columns
}

// teacherEnds asks whether the teacher of a distillation ends its responses with the learner's stop id (2609.20511). One that has another
// finds the end of nearly every response unlikely, and other tokens not: so the learner is taught never to end, and lengths grow.
// It also asks whether the teacher has a part in any response: a worker that drops its log-probs trains on, without an error.
type teacherEnds struct {
	read, unread int        // responses
	ends, others tokenCount // off: doubted
	gap          float64    // Σ of that at ends
	id           string     // of the last end
}

// doubtedBy is how far below the learner's log-prob the teacher's is where it doubts a token: ln 100. Of an id that the teacher never ends with it is
// ten nats and more. mostEnds is the share of ends that are doubted where the stop id is another, endsOver how many times that of other tokens it is.
// A teacher with the same id that would go on in nine of ten responses is not distinguished, and harms as much.
const doubtedBy, mostEnds, endsOver = 4.6, 0.9, 10

func (c *teacherEnds) add(r *reader.Row) {
	policy := r.Old
	if policy == nil {
		policy = r.Roll
	}
	if r.Teacher == nil || policy == nil {
		return
	}
	signal := slices.ContainsFunc(r.Teacher, func(logp float64) bool { return logp != 0 })
	if slices.Equal(r.Teacher, policy) || !signal { // a response that the teacher did not read
		c.unread++
		return
	}
	c.read++
	last := r.Finish == "" || r.Finish == "stop" // else it was cut, and has no end
	for i := len(r.Mask) - 1; i >= 0; i-- {
		gap := policy[i] - r.Teacher[i]
		if !r.Mask[i] || math.IsNaN(gap) {
			continue
		}
		if !last {
			c.others.add(gap > doubtedBy)
			continue
		}
		c.ends.add(gap > doubtedBy)
		last, c.gap = false, c.gap+gap
		if r.Token != nil {
			c.id = fmt.Sprintf(" (id %d)", r.Token[i])
		}
	}
}

func (c *teacherEnds) findings(*Options) (found []Finding, columns []looked) {
	if c.read+c.unread > 0 { // most runs have none
		columns = []looked{{"the teacher's log-probs", true}}
	}
	if c.read == 0 && c.unread >= leastResponses {
		return learns("teacher-silent", Warning, "follow the teacher's log-probs from its server to the loss of the worker that runs: are they among the keys that are sent, and does a mask leave any response to the teacher?",
			"the teacher's log-probs equal the learner's or are 0 in all %d responses that have them: the distillation term has no gradient, and the run trains on without the teacher", c.unread), columns
	}
	ends := share(c.ends.off, c.ends.all)
	if c.ends.all < leastResponses || ends < mostEnds || ends < endsOver*share(c.others.off, c.others.all) {
		return nil, columns
	}
	return learns("teacher-stop", Fault, "map the teacher's stop id to the learner's before its log-probs are taken, or leave the last token out of the distillation; compare eos_token_id in generation_config.json of both models",
		"the teacher finds the last token%s of %s unlikely, e^%.1f times less than the learner, and %.2g %% of the other tokens: its responses end with another stop id, and distillation teaches the learner never to stop",
		c.id, ofResponses(c.ends.off, c.ends.all), c.gap/float64(c.ends.all), 100*share(c.others.off, c.others.all)), columns
}

// ownMask measures what the trainer's own correction has removed.
type ownMask struct {
	n, masked, last    int
	responses, gone    int
	k3, k3Left         float64
	positive, negative tokenCount
	ids                map[int32]*tokenCount
}

// mostIDs bounds how many ids are counted.
const mostIDs = 1 << 18

func (c *ownMask) add(r *reader.Row) {
	if r.Masked == nil {
		return
	}
	trained, removed := 0, 0
	for i := range masked.Kept(r.Mask) {
		off := r.Masked[i]
		trained++
		removed += count1(off)
		c.last += count1(off && !slices.Contains(r.Mask[i+1:], true))
		if r.Roll != nil && r.Old != nil && isFinite(r.Old[i]-r.Roll[i]) {
			x := k3Of(r.Old[i] - r.Roll[i])
			c.k3 += x
			if !off {
				c.k3Left += x
			}
		}
		if r.Advantage != nil {
			if a := r.Advantage[i]; a > 0 {
				c.positive.add(off)
			} else if a < 0 {
				c.negative.add(off)
			}
		}
		if r.Token == nil {
			continue
		}
		if of := entry(&c.ids, r.Token[i], mostIDs); of != nil {
			of.add(off)
		}
	}
	if trained > 0 {
		c.responses++
		c.gone += count1(removed == trained)
	}
	c.n, c.masked = c.n+trained, c.masked+removed
}

// concentrated is the part of the masked tokens that a few ids hold, which have a tenth of it of all tokens.
const concentrated = 0.5

func (c *ownMask) findings(*Options) (found []Finding, columns []looked) {
	columns = []looked{{"the trainer's own mask", c.n > 0}}
	switch {
	case c.n == 0:
		return nil, columns
	case c.masked == 0:
		return learns("own-mask", Note, "", "the file's own mask (is_masked) removes no token"), columns
	}
	where := ""
	ids := slices.SortedFunc(maps.Keys(c.ids), func(a, b int32) int {
		return cmp.Or(c.ids[b].off-c.ids[a].off, int(a-b))
	})
	all, off := 0, 0
	for n, id := range ids[:min(3, len(ids))] {
		all, off = all+c.ids[id].all, off+c.ids[id].off
		if part := share(off, c.masked); part >= concentrated && share(all, c.n) < part/10 {
			where = fmt.Sprintf("%.0f %% of them have the ids %v, which are %.2g %% of the tokens", 100*part, ids[:n+1], 100*share(all, c.n))
			break
		}
	}
	if where == "" && c.last > c.masked/2 {
		where = fmt.Sprintf("%d of %d are the last token of a response", c.last, c.masked)
	}
	text := fmt.Sprintf("the file's own mask (is_masked) removes %.3g %% of the tokens and %d of %s whole", 100*share(c.masked, c.n), c.gone, count(c.responses, "response"))
	if c.k3 > 0 {
		text += fmt.Sprintf(", with %.0f %% of the k3 between the engines", 100*(1-c.k3Left/c.k3))
	}
	if c.positive.all > 0 && c.negative.all > 0 {
		text += fmt.Sprintf("; %.2g %% of the tokens with positive and %.2g %% of those with negative advantage", 100*c.positive.share(), 100*c.negative.share())
	}
	level, next := Note, ""
	if share(c.masked, c.n) > mostMasked {
		level, next = Warning, "find out why more than a quarter is masked: that is a loss of data and no correction (survey)"
	}
	f := learns("own-mask", level, next, "%s", text)
	f[0].Where = where
	return f, columns
}

// sureness finds a policy whose entropy has collapsed, by the recorded entropy or by how sure it is of what it samples.
type sureness struct {
	steps bySteps
	all   stepSum
	sure  int  // tokens that are all but certain
	own   bool // entropies are recorded
}

const (
	// collapsed is the entropy, in nats a token, below which samples of a prompt hardly differ: at 0.01 nine of ten responses
	// of ten tokens are the likeliest one.
	collapsed = 0.01
	// certain is the surprisal of a token whose probability is 0.9999, mostCertain the share of those from which a
	// policy is nearly deterministic: of ten successive tokens nine leave no choice.
	certain, mostCertain = 1e-4, 0.9
	// fallsTo is the part of the first step's entropy that a series ends at where it has collapsed.
	fallsTo = 0.1
)

func (c *sureness) add(r *reader.Row) {
	column, sign := r.Entropy, 1.0
	if column == nil {
		if column, sign = r.Old, -1; column == nil {
			column = r.Roll
		}
	}
	if column == nil {
		return
	}
	c.own = c.own || r.Entropy != nil
	s := c.steps.at(r.Step)
	for i := range masked.Kept(r.Mask) {
		if x := float64(sign * column[i]); isLogp(-x) {
			c.all.join(stepSum{1, x, 0})
			s.join(stepSum{1, x, 0})
			c.sure += count1(x < certain)
		}
	}
}

func (c *sureness) findings(*Options) (found []Finding, columns []looked) {
	if c.all.n < leastTokens {
		return nil, nil
	}
	what := "mean surprisal of the sampled tokens"
	if c.own {
		what = "mean entropy"
	}
	steps, sums := c.steps.inOrder()
	first, last := sums[0], sums[len(sums)-1]
	next := "raise the entropy: a larger upper clip, a higher temperature, or an earlier checkpoint; responses to a prompt are nearly all alike"
	switch {
	case c.all.mean() < collapsed || share(c.sure, c.all.n) >= mostCertain:
		return learns("entropy-collapse", Warning, next, "the policy is nearly deterministic (entropy collapsed): %s %.2g nats, below %v at %.0f %% of the tokens", what, c.all.mean(), certain, 100*share(c.sure, c.all.n)), nil
	case len(steps) > 1 && min(first.n, last.n) >= leastTokens && last.mean() < fallsTo*first.mean():
		return learns("entropy-collapse", Warning, next, "the entropy collapses: %s %.2g nats at step %d, %.2g at step %d", what, first.mean(), steps[0], last.mean(), steps[len(steps)-1]), nil
	}
	return nil, nil
}

// stepSum adds up the tokens of a step: how many, their sizes, and k3.
type stepSum struct {
	n       int
	sum, k3 float64
}

func (s *stepSum) join(o stepSum) { s.n, s.sum, s.k3 = s.n+o.n, s.sum+o.sum, s.k3+o.k3 }

func (s stepSum) mean() float64 { return s.sum / float64(max(s.n, 1)) }

// bySteps has a sum for each step, or for each block of 2^shift successive ones where the steps are more than mostSteps.
type bySteps struct {
	sums  map[int]*stepSum
	shift int
}

// mostSteps bounds how many sums there are.
const mostSteps = 1 << 16

// at is the sum of a step, made where there is none.
func (b *bySteps) at(step int) *stepSum {
	for {
		if s := entry(&b.sums, step>>b.shift, mostSteps); s != nil {
			return s
		}
		var joined map[int]*stepSum
		for key, s := range b.sums { // sums of two, in any order
			entry(&joined, key>>1, mostSteps).join(*s)
		}
		b.sums, b.shift = joined, b.shift+1
	}
}

// inOrder are the first steps of the blocks, in their order, with their sums.
func (b *bySteps) inOrder() (steps []int, sums []*stepSum) {
	for _, key := range slices.Sorted(maps.Keys(b.sums)) {
		steps, sums = append(steps, key<<b.shift), append(sums, b.sums[key])
	}
	return steps, sums
}

// gapGrowth follows the gap over the steps of a series.
type gapGrowth struct{ steps bySteps }

func (c *gapGrowth) add(r *reader.Row) {
	if r.Roll == nil || r.Old == nil || r.Step == reader.Unknown {
		return
	}
	s := c.steps.at(r.Step)
	for i := range masked.Kept(r.Mask) {
		if isLogp(r.Roll[i]) && isLogp(r.Old[i]) {
			d := r.Old[i] - r.Roll[i]
			s.join(stepSum{1, min(abs(d), slidCap), k3Of(d)}) // a wild token is not growth
		}
	}
}

const (
	// leastSeries is how many steps a trend is tested on: of fewer no order is rare enough.
	leastSeries = 5
	// leastStepTokens is how many tokens a step, or a block of steps, needs.
	leastStepTokens = 100
	// grownBy is the growth over the series from which it matters: less is what other prompts make of a gap.
	grownBy = 1.5
	// trendLevel is the level of the Mann-Kendall test, one-sided. With grownBy there is no more than one false alarm in
	// a hundred healthy series (TestGrowthFalseAlarms).
	trendLevel = 0.01
	// zTrend and zPower are the normal quantiles of that level and of a power of 80 %.
	zTrend, zPower = 2.33, 0.84
	// mostBlocks is how many blocks of steps a long series is cut into.
	mostBlocks = 200
)

// stepPoint is a step, or a block of steps, with its mean |d| and k3.
type stepPoint struct {
	step         int
	at, size, k3 float64
	log          float64
}

func (c *gapGrowth) findings(*Options) ([]Finding, []looked) {
	points := c.points()
	switch n := len(points); {
	case n < 2:
		return nil, []looked{{"growth of the gap (one step)", false}}
	case n < leastSeries:
		return nil, []looked{{fmt.Sprintf("growth of the gap (%d steps; a trend needs %d)", n, leastSeries), false}}
	}
	p, slope := mannKendall(points), theilSen(points)
	first, last := points[0], points[len(points)-1]
	grown := elementary.Exp(slope * (last.at - first.at))
	if p > trendLevel || grown < grownBy {
		return []Finding{{ID: "gap-steady", Topic: Mismatch, Level: Note, Text: fmt.Sprintf("no growth of the gap over %s; growth to %.2g times the first would be seen in 4 of 5 series",
			count(len(points), "step"), detectable(points, slope))}}, nil
	}
	from := onsetAt(points)
	late := points[from:]
	rate := 0.0
	if len(late) > 1 {
		rate = theilSen(late)
	}
	before := medianOf(valuesOf(points[:from], func(x stepPoint) float64 { return x.size }))
	text := fmt.Sprintf("the gap grows: mean |d| %.2g at step %d, %.2g at step %d (k3 %.2g to %.2g), from step %d on",
		first.size, first.step, last.size, last.step, first.k3, last.k3, points[from].step)
	if rate > 0 {
		text += fmt.Sprintf(" by about %.2g %% a step", 100*elementary.Expm1(rate))
	}
	return []Finding{{ID: "gap-grows", Topic: Mismatch, Level: Warning, Text: text + fmt.Sprintf(" (Mann-Kendall p %.1g)", p),
		Where: fmt.Sprintf("%.1f times what it was before", last.size/before),
		Next:  "find out what changed at that step: recorded lag, weight sync, length or context of the responses, learning rate; bound it before it grows further"}}, nil
}

// points are the steps, or blocks of them where they are many or have few tokens.
func (c *gapGrowth) points() (list []stepPoint) {
	steps, sums := c.steps.inOrder()
	block := (len(steps) + mostBlocks - 1) / mostBlocks
	for from := 0; from < len(steps); {
		var all stepSum
		at, to := 0.0, from
		for ; to < len(steps) && (to < from+block || all.n < leastStepTokens); to++ {
			all.join(*sums[to])
			at += float64(steps[to])
		}
		if all.n >= leastStepTokens && all.sum > 0 {
			n := float64(all.n)
			list = append(list, stepPoint{step: steps[from], at: at / float64(to-from), size: all.sum / n, k3: all.k3 / n, log: elementary.Log(all.sum / n)})
		}
		from = to
	}
	return list
}

// mannKendall is the one-sided p of at least as many rising pairs if no step differed from another, 1 where half of the pairs fall.
func mannKendall(list []stepPoint) float64 {
	n, falling := len(list), 0
	for j := range list {
		for i := range j {
			falling += count1(list[i].log >= list[j].log)
		}
	}
	if 4*falling >= n*(n-1) {
		return 1
	}
	chance := make([]float64, falling+1) // by the number of falling pairs
	chance[0] = 1
	for k := 2; k <= n; k++ {
		next := make([]float64, len(chance))
		for at, p := range chance {
			for more := 0; more < k && at+more < len(next) && p > 0; more++ {
				next[at+more] += p / float64(k)
			}
		}
		chance = next
	}
	return total(chance)
}

// theilSen is the median slope of the log size between two steps.
func theilSen(list []stepPoint) float64 {
	var slopes []float64
	for j := range list {
		for i := range j {
			slopes = append(slopes, (list[j].log-list[i].log)/(list[j].at-list[i].at))
		}
	}
	return medianOf(slopes)
}

// detectable is the growth over the series that the test finds in four of five series with this scatter about the slope.
func detectable(list []stepPoint, slope float64) float64 {
	at := momentsOf(valuesOf(list, func(p stepPoint) float64 { return p.at }))
	level := momentsOf(valuesOf(list, func(p stepPoint) float64 { return p.log - float64(slope*p.at) }))
	off := medianOf(valuesOf(list, func(p stepPoint) float64 { return abs(p.log - float64(slope*p.at) - level.mean) }))
	se := 1.4826 * off / (at.deviation * math.Sqrt(float64(len(list)))) // of a normal scatter, by its median
	return max(grownBy, elementary.Exp(min((zTrend+zPower)*se*(list[len(list)-1].at-list[0].at), overflow)))
}

// onsetAt is the first step of the raised gap: from it on every step has more than any step before. Of several such steps it is the
// first whose rise over all before is at least half of the greatest, and where there is none, the step that parts the series
// into two levels best.
func onsetAt(list []stepPoint) int {
	logs := valuesOf(list, func(p stepPoint) float64 { return p.log })
	rise := make([]float64, len(logs))
	best, least := 0, math.Inf(1) // of two levels
	for i := 1; i < len(logs); i++ {
		rise[i] = slices.Min(logs[i:]) - slices.Max(logs[:i])
		a, b := momentsOf(logs[:i]).deviation, momentsOf(logs[i:]).deviation
		if squares := float64(float64(i)*a*a) + float64(float64(len(logs)-i)*b*b); squares < least {
			best, least = i, squares
		}
	}
	if most := slices.Max(rise); most > 0 {
		return slices.IndexFunc(rise, func(x float64) bool { return x >= most/2 })
	}
	return best
}
