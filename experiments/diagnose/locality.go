package diagnose

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/diagnose/reader"
	"driftlab/results/stats"
	"driftlab/trainer/method/metrics"
)

// Local is a gap most of which lies in a few tokens that a place, an id or a part of the dump names.
const Local = "few tokens"

const (
	// mostOfGap is the part of Σk3 that a set of tokens holds whose gap is local, fewTokens the part of the tokens that it has at most, and
	// leastLocal how many it has at least.
	mostOfGap, fewTokens, leastLocal = 0.5, 0.1, 8
	// mostKeys is how many values of a dimension a set has at most, leastKey the part of Σk3 of each.
	mostKeys, leastKey = 3, 0.1
	// farOut is the quantile of |d| of all other tokens that the median |d| of the set is above. Stale weights have heavy tails: a few
	// tokens of theirs may hold most of k3 and have an id or a response in common, but most of that id's or response's tokens are like the rest.
	farOut = 0.99
	// nearEnds is how many tokens from both ends are looked at one by one. At the length limit the last 1, 2, 4, ... tokens, up to its
	// square, are looked at together.
	nearEnds = 4
)

// dimension is a way to put tokens into sets: each is the value of key, false for a token that is in none.
type dimension struct {
	key  func(k *kept, i int) (uint64, bool)
	says func(k *kept, i int) string // the set of that token
	// ofTokens says that it distinguishes tokens of a response, and not responses.
	ofTokens bool
}

// dimensions are those that are looked at. What comes first explains as much as what comes after it in fewer words.
func dimensions(cap int) []dimension {
	var list []dimension
	from := func(i int) string {
		return []string{"the first token", "the second token", "the third token", "the fourth token"}[i]
	}
	atCap := func(k *kept) bool { return k.finish == "length" || len(k.roll) == cap }
	for n := 1; n <= nearEnds*nearEnds; n *= 2 {
		list = append(list, dimension{key: func(k *kept, i int) (uint64, bool) { return 0, atCap(k) && i >= len(k.roll)-n },
			says: func(*kept, int) string {
				if n == 1 {
					return "the last token of responses at the length limit"
				}
				return fmt.Sprintf("the last %d tokens of responses at the length limit", n)
			}})
	}
	list = append(list,
		dimension{key: func(k *kept, i int) (uint64, bool) {
			n := len(k.roll) - 1 - i
			return uint64(n), n < nearEnds && len(k.roll) > 2*nearEnds
		}, says: func(k *kept, i int) string {
			if n := len(k.roll) - 1 - i; n > 0 {
				return from(n) + " from the end of responses"
			}
			return "the last token of responses"
		}},
		dimension{key: func(k *kept, i int) (uint64, bool) { return uint64(i), i < nearEnds && len(k.roll) > 2*nearEnds },
			says: func(_ *kept, i int) string { return from(i) + " of responses" }},
		dimension{key: func(k *kept, i int) (uint64, bool) {
			if k.id == nil {
				return 0, false
			}
			return uint64(uint32(k.id[i])), true
		}, says: func(k *kept, i int) string { return fmt.Sprintf("token id %d", k.id[i]) }},
	)
	for i := range list {
		list[i].ofTokens = true
	}
	for _, part := range append(divisions[:len(divisions):len(divisions)],
		division{"group", func(k *kept) string {
			if k.group < 0 {
				return ""
			}
			return fmt.Sprintf("%d of step %d", k.group, k.step)
		}},
		division{"response", func(k *kept) string { return strconv.Itoa(k.number) }}) {
		list = append(list, dimension{key: func(k *kept, _ int) (uint64, bool) { name := part.name(k); return hashText(name), name != "" },
			says: func(k *kept, _ int) string { return part.kind + " " + part.name(k) }})
	}
	return list
}

// division is a way to put whole responses into parts of a dump, each with a name, empty where it was not recorded.
type division struct {
	kind string
	name func(k *kept) string
}

var divisions = []division{
	{"worker", func(k *kept) string { return k.worker }},
	{"file", func(k *kept) string { return k.file }},
	{"environment", func(k *kept) string { return k.env }},
	{"step", func(k *kept) string {
		if k.step < 0 {
			return ""
		}
		return strconv.Itoa(k.step)
	}},
}

// hashText is FNV-1a of a name.
func hashText(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// locus is a small set of tokens that holds most of a gap.
type locus struct {
	dimension         dimension
	keys              map[uint64]bool
	where             string
	tokens, responses int
	part, k3          float64 // of the tokens, and of Σk3
	median, rest      float64 // |d| in it, and the quantile of |d| outside
}

func (l *locus) has(k *kept, i int) bool {
	key, ok := l.dimension.key(k, i)
	return ok && l.keys[key]
}

// localOf is the set that holds most of the gap, of those that hold it the one that does with the fewest tokens for its part; nil where none does.
func localOf(rows []*kept) *locus {
	tokens, total := 0, 0.0
	longest, atLongest := 0, 0 // of the responses, and how many have that length
	for _, k := range rows {
		tokens += len(k.roll)
		if len(k.roll) > longest {
			longest, atLongest = len(k.roll), 0
		}
		atLongest += count1(len(k.roll) == longest)
		for i, roll := range k.roll {
			total += k3Of(k.old[i] - roll)
		}
	}
	if tokens < leastTokens || total == 0 {
		return nil
	}
	if atLongest < leastEnds {
		longest = 0
	}
	var best *locus
	for _, d := range dimensions(longest) {
		l := d.largest(rows, tokens, total)
		if l == nil || best != nil && l.k3-l.part <= best.k3-best.part+0.05 {
			continue
		}
		l.compare(rows)
		if l.median > l.rest {
			best = l
		}
	}
	return best
}

// largest are the sets of a dimension that hold most of Σk3 together, each of them more than its part of the tokens; nil where these are many tokens.
func (d dimension) largest(rows []*kept, tokens int, total float64) *locus {
	type sum struct {
		key    uint64
		tokens int
		k3     float64
		says   string
	}
	sums := map[uint64]*sum{}
	var order []*sum
	for _, k := range rows {
		for i, roll := range k.roll {
			key, ok := d.key(k, i)
			if !ok {
				continue
			}
			s := sums[key]
			if s == nil {
				s = &sum{key: key, says: d.says(k, i)}
				sums[key], order = s, append(order, s)
			}
			s.tokens++
			s.k3 += k3Of(k.old[i] - roll)
		}
	}
	slices.SortStableFunc(order, func(a, b *sum) int { return cmp.Compare(b.k3/float64(b.tokens), a.k3/float64(a.tokens)) })
	l := &locus{dimension: d, keys: map[uint64]bool{}}
	held := 0.0
	for _, s := range order {
		if len(l.keys) == mostKeys || s.k3 < leastKey*total {
			continue // too small a part of it
		}
		l.keys[s.key] = true
		l.tokens += s.tokens
		held += s.k3
		if l.where != "" {
			l.where += " and "
		}
		l.where += s.says
	}
	l.part, l.k3 = float64(l.tokens)/float64(tokens), held/total
	if l.tokens < leastLocal || l.k3 < mostOfGap || l.part > fewTokens {
		return nil
	}
	return l
}

func (l *locus) compare(rows []*kept) {
	var in, out []float64
	for _, k := range rows {
		n := len(in)
		for i, roll := range k.roll {
			if d := math.Abs(k.old[i] - roll); l.has(k, i) {
				in = append(in, d)
			} else {
				out = append(out, d)
			}
		}
		l.responses += count1(len(in) > n)
	}
	slices.Sort(out)
	l.median, l.rest = medianOf(in), quantile(out, farOut)
}

func (l *locus) without(k *kept) *kept {
	var at []int
	for i := range k.roll {
		if !l.has(k, i) {
			at = append(at, i)
		}
	}
	if len(at) == len(k.roll) {
		return k
	}
	part := *k
	part.roll, part.old, part.now, part.advantage, part.mass = pick(k.roll, at), pick(k.old, at), pick(k.now, at), pick(k.advantage, at), pick(k.mass, at)
	for i := range part.control {
		part.control[i] = pick(k.control[i], at)
	}
	part.behind, part.ref, part.entropy = pick(k.behind, at), pick(k.ref, at), pick(k.entropy, at)
	part.id, part.again, part.flipped, part.turn = pick(k.id, at), pick(k.again, at), pick(k.flipped, at), pick(k.turn, at)
	part.first = false // a prefix has a gap
	return &part
}

func pick[T any](column []T, at []int) []T {
	if column == nil {
		return nil
	}
	return stats.Map(at, func(n int) T { return column[n] })
}

// local names the set of tokens that holds most of the gap, and judges the others without it.
func (a *Analysis) local(r *Report, l *locus, rows []*kept) {
	var rest []*kept
	var gap metrics.Tally
	var law lawIdentity
	for _, k := range rows {
		if part := l.without(k); len(part.roll) > 0 {
			rest = append(rest, part)
			gap.Add(part.old, part.roll, nil)
			v := view{row: &reader.Row{KeptMass: part.mass}, roll: part.roll, old: part.old} // as a check of ratios sees it
			for i, roll := range part.roll {
				v.ok, v.ratio = append(v.ok, i), append(v.ratio, ratioOf(part.old[i]-roll))
			}
			law.add(&v)
		}
	}
	text := fmt.Sprintf("%s (%s, %.2g %% of the tokens, in %s) hold %.0f %% of k3: median |d| %.2g there, where 99 %% of the others have less than %.2g",
		l.where, count(l.tokens, "token"), 100*l.part, count(l.responses, "response"), 100*l.k3, l.median, l.rest)
	next := "find what writes these tokens, and mask them until then"
	r.Findings = append(r.Findings, Finding{ID: "local-gap", Topic: Mismatch, Level: Warning, Text: text, Next: next, Where: l.where})
	g := gap.Gap()
	if r.Verdict.State == Healthy {
		a.attribute(r, rest)
		return
	}
	size := fmt.Sprintf("mean |d| %.2g, k3 %.2g", g.MeanAbsDlogp, g.K3)
	r.Verdict = Verdict{State: Genuine, Causes: []string{Local}, Confidence: Confident, Summary: "Most of the gap lies in a few tokens: " + text + ".", Next: next}
	r.Causes = []Cause{{Name: Local, ShareK3: [3]float64{l.k3, l.k3, l.k3}, Log10LR: excluded, Why: text, Confirm: "mask these tokens: most of the gap is gone"}}
	switch z := law.z(); {
	case math.Abs(z) > lawFault:
		r.Verdict.State = Repair
		r.Verdict.Summary += fmt.Sprintf(" Without them the mean ratio is still %.4f (z %+.1f): the log-probs are not those of the sampling distribution.", law.sum/float64(law.n), z)
	case agrees(g):
		r.Verdict.Summary += " Without them the engines agree as well as engines do (" + size + ")."
	default:
		part := Report{Verdict: Verdict{State: Genuine}}
		a.attribute(&part, rest)
		r.Features, r.Ambiguous, r.Signatures, r.Attribution = part.Features, append(r.Ambiguous, part.Ambiguous...), part.Signatures, part.Attribution
		for _, c := range part.Causes {
			for i := range c.ShareK3 {
				c.ShareK3[i] *= 1 - l.k3
			}
			r.Causes = append(r.Causes, c)
		}
		r.Verdict.Causes = append(r.Verdict.Causes, part.Verdict.Causes...)
		r.Verdict.Summary += " Without them: " + size + "." + part.Verdict.Summary
	}
}

// recordFindings are what checks of everything say that is no fault, and that the reader of a verdict must know.
func recordFindings(checks []Check) (list []Finding) {
	for _, c := range checks {
		if c.scope != everything {
			continue
		}
		switch {
		case c.Result == CannotTell:
			list = append(list, Finding{ID: c.ID, Topic: Data, Level: Undecided, Text: c.Why})
		case c.Result == Watch && c.ID == "non-finite":
			list = append(list, Finding{ID: "null-log-probs", Topic: Data, Level: Warning, Text: c.Why, Next: "set the ratio of these tokens to 1, or mask them"})
		case c.Result == Watch && c.ID == "law-identity":
			list = append(list, Finding{ID: "single-ratio", Topic: Mismatch, Level: Warning, Text: c.Why, Next: "look at this token, and bound its weight"})
		case c.Result == Watch && c.ID == "repeated-routes":
			list = append(list, Finding{ID: c.ID, Topic: Data, Level: Warning, Text: c.Why, Next: "record the routes of every decoded token"})
		}
	}
	return list
}

const (
	// uneven is how many times as large the median error, in logits, is in some parts of a dump as in the others where a gap belongs to these parts. Equal
	// engines have it within a tenth over a few hundred tokens, and a bf16 engine has a third to a quarter of an fp8 engine's.
	uneven = 3
	// mostUneven is the part of k3 that such parts hold at least, leastPart the tokens that a part is judged by.
	mostUneven, leastPart = 0.8, 200
	// mostOfDump is the part of the tokens that such parts have less than: where all steps but the first have a gap, the first one is what differs.
	mostOfDump = 0.9
)

// unevenGap is the finding of a gap that some parts of a dump have.
const unevenGap = "uneven-gap"

// part is one of the environments, workers, files or steps of a dump.
type part struct {
	name       string
	step       int
	errors     []float64
	median, k3 float64
	tokens     int
}

// unevenOf says which environments, workers, files or steps have nearly all of a gap, with an error at a token several times that of the others; empty where none do.
func unevenOf(rows []*kept) string {
	for _, kind := range []string{"environment", "worker", "step", "file"} {
		by := divisions[slices.IndexFunc(divisions, func(d division) bool { return d.kind == kind })]
		if text := unevenBy(rows, by.kind, by.name); text != "" {
			return text
		}
	}
	return ""
}

// unevenBy is unevenOf by one division.
func unevenBy(rows []*kept, kind string, name func(k *kept) string) string {
	parts, total, tokens := map[string]*part{}, 0.0, 0
	var list []*part
	for _, k := range rows {
		key := name(k)
		if key == "" {
			return ""
		}
		p := parts[key]
		if p == nil {
			p = &part{name: key, step: k.step}
			parts[key], list = p, append(list, p)
		}
		for i, roll := range k.roll {
			x := k3Of(k.old[i] - roll)
			p.k3, total, p.tokens, tokens = p.k3+x, total+x, p.tokens+1, tokens+1
			if u, _, q := logitError(roll, k.old[i]); q >= leastDoubt {
				p.errors = append(p.errors, abs(u))
			}
		}
	}
	list = slices.DeleteFunc(list, func(p *part) bool { return len(p.errors) < leastPart })
	for _, p := range list {
		p.median = medianOf(p.errors)
	}
	slices.SortStableFunc(list, func(a, b *part) int { return cmp.Compare(b.median, a.median) })
	for n := 1; n < len(list); n++ {
		if list[n-1].median < uneven*list[n].median {
			continue
		}
		high := slices.Clone(list[:n])
		k3, of := 0.0, 0
		for _, p := range high {
			k3, of = k3+p.k3, of+p.tokens
		}
		if k3 < mostUneven*total || share(of, tokens) >= mostOfDump {
			return ""
		}
		return fmt.Sprintf("the gap lies in %s: %.0f %% of k3 on %.0f %% of the tokens; the median error in logits is %.2g there and at most %.2g elsewhere",
			partNames(kind, high, list[n:]), 100*k3/total, 100*share(of, tokens), list[n-1].median, list[n].median)
	}
	return ""
}

// partNames names the parts: steps that are all the last ones by the first of them, and a few of many by their number.
func partNames(kind string, high, low []*part) string {
	if kind == "step" {
		first := slices.MinFunc(high, func(a, b *part) int { return a.step - b.step }).step
		if !slices.ContainsFunc(low, func(p *part) bool { return p.step > first }) && len(high) > 1 {
			return fmt.Sprintf("the steps from step %d on", first)
		}
		slices.SortFunc(high, func(a, b *part) int { return a.step - b.step })
	}
	var names []string
	for i, p := range high {
		if i == mostKeys {
			names = append(names, fmt.Sprintf("%d more", len(high)-i))
			break
		}
		names = append(names, p.name)
	}
	return kind + " " + strings.Join(names, ", ")
}
