package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/diagnose/reader"
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

// rank orders responses by a hash of their group, or of their number where none is known, and within a group by one of their number.
type rank struct{ group, number uint64 }

func (x *answer) rank() rank {
	number := hashIDs(hashStart, []int32{int32(x.number)})
	return rank{cmp.Or(x.group, number), number}
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.group, o.group), cmp.Compare(r.number, o.number))
}

// answers keeps responses for the checks that compare them.
type answers struct {
	list   []answer
	number int   // of responses seen
	below  *rank // of those that are kept, nil while all are
	tokens int   // trained, with an advantage
}

// mostAnswers is how many responses are kept, some 20 MB. Beyond, the half with the least rank stays: nearly all of its groups are whole.
const mostAnswers = 1 << 18

// keep takes a response in, and drops half where these are too many.
func (a *answers) keep(x answer, most int) {
	if a.below != nil && x.rank().compare(*a.below) >= 0 {
		return
	}
	if a.list = append(a.list, x); len(a.list) <= most {
		return
	}
	slices.SortFunc(a.list, func(x, y answer) int { return x.rank().compare(y.rank()) })
	half := len(a.list) / 2
	a.below = new(a.list[half].rank())
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
	for i, m := range r.Mask {
		if !m {
			continue
		}
		x.length++
		if r.Advantage == nil || !isFinite(r.Advantage[i]) {
			continue
		}
		a.tokens++
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

type moments1 struct{ mean, deviation float64 }

func momentsOf(x []float64) moments1 {
	n := float64(max(len(x), 1))
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
	}
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
func valuesOf[T any](list []T, of func(T) float64) (column []float64) {
	for _, x := range list {
		if v := of(x); isFinite(v) {
			column = append(column, v)
		}
	}
	return column
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
	zero := 0
	for _, x := range l.advantages {
		zero += count1(abs(x) < equalTo)
	}
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
	idle := 0
	for _, g := range l.groups {
		idle += count1(g.reward.deviation < equalTo)
	}
	if idle > 0 {
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
	var sizes []float64
	for _, x := range l.advantages {
		if abs(x) > equalTo {
			sizes = append(sizes, abs(x))
		}
	}
	if len(sizes) < leastResponses {
		return nil
	}
	typical := medianOf(slices.Clone(sizes))
	n, worst := 0, slices.Max(sizes)
	for _, x := range sizes {
		n += count1(x > wildFrom*typical)
	}
	if n == 0 {
		return nil
	}
	return learns("advantage-spike", Fault, next, "%d of %s have |advantage| up to %s, where the median is %.2g", n, count(len(l.advantages), "response"), thousands(worst), typical)
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
	// centred is how near the mean of advantages is to 0, in their deviation, where their baseline is the mean of these rewards;
	// offCentre from where it is not.
	centred, offCentre = 1e-3, 0.05
	// strideShare is the share of parts, and of groups, that must agree. Of equal groups in order both ways are the same.
	strideShare = 0.9
)

// stride finds advantages whose baseline is of a fixed number of rows each, where groups have fewer: the mean of the advantages is 0
// within each part of the fixed size, and not within the groups.
func (l *learning) stride() []Finding {
	if l.below != nil || len(l.groups) < 3 {
		return nil
	}
	size := 0
	for _, g := range l.groups {
		size = max(size, len(g.list))
	}
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
	for _, x := range l.list {
		c.cut += count1(x.length == c.length)
	}
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
	var steps []int
	for _, x := range l.list {
		if x.lag < 0 || x.step == reader.Unknown {
			continue
		}
		if _, known := most[x.step]; !known {
			steps = append(steps, x.step)
		}
		most[x.step] = max(most[x.step], x.lag)
	}
	if len(steps) == 0 {
		return nil
	}
	slices.Sort(steps)
	key, bound := l.o.number(lagKeys...)
	over := slices.IndexFunc(steps, func(s int) bool { return key != "" && float64(most[s]) > bound })
	table := runs(steps, most)
	greatest := 0
	for _, s := range steps {
		greatest = max(greatest, most[s])
	}
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
