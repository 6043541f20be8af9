package golden

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"
)

// Matcher compares the cases of one function of a reference implementation with our code. The
// first matcher that covers a case gets it.
type Matcher struct {
	// File is a path.Match pattern over Case.File.
	File string
	// Source, if not empty, must occur in Case.Source.
	Source string
	// Match computes the outputs of c with our code and reports them to k.
	Match func(c *Case, k *Check)
}

// Listing names cases, or one output of them, that our code does not match,
// with the reason.
type Listing struct {
	// File is a path.Match pattern over Case.File.
	File string
	// Source, if not empty, must occur in Case.Source.
	Source string
	// Output is a path.Match pattern over the path of an output ("grad",
	// "metrics/actor/ppo_kl", with each / inside a metric's name read as it
	// stands); empty means the whole case.
	Output string
	// When, if not nil, narrows the listing by parameters or inputs.
	When func(c *Case) bool
	// Reason says why.
	Reason string
	// SecondSet marks what only nastier sets than the shipped one contain.
	SecondSet bool
}

func covers(c *Case, file, source string) bool {
	ok, err := path.Match(file, c.File)
	if err != nil {
		panic(fmt.Sprintf("golden: bad pattern %q: %v", file, err))
	}
	return ok && strings.Contains(c.Source, source)
}

// Listings are those of one package.
type Listings []Listing

// of finds the listing of an output, or of the whole case for "".
func (list Listings) of(c *Case, output string) *Listing {
	for i := range list {
		l := &list[i]
		// The condition last: it may read the very output.
		if (l.Output == "") == (output == "") && (output == "" || matchOutput(l.Output, output)) && l.fits(c) {
			return l
		}
	}
	return nil
}

func (l *Listing) fits(c *Case) bool {
	return covers(c, l.File, l.Source) && (l.When == nil || l.When(c))
}

// matchOutput is path.Match with * running across slashes, which metric names contain.
func matchOutput(pattern, output string) bool {
	flat := strings.NewReplacer("/", "\x00")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(output))
	if err != nil {
		panic(fmt.Sprintf("golden: bad pattern %q: %v", pattern, err))
	}
	return ok
}

// tally says of every listing in use how many of its cases differ from ours, as
// it claims, and how many match all the same.
type tally map[*Listing]*[2]int

func (t tally) add(l *Listing, differs bool) {
	if t[l] == nil {
		t[l] = &[2]int{}
	}
	if differs {
		t[l][0]++
	} else {
		t[l][1]++
	}
}

// stale lists the listings that excuse nothing: one of an output none of whose
// cases differs, one of whole cases any of which matches.
func (t tally) stale(list Listings) []string {
	var lines []string
	for i := range list {
		l := &list[i]
		if n := t[l]; n != nil && n[1] > 0 && (n[0] == 0 || l.Output == "") {
			lines = append(lines, fmt.Sprintf("%v: %d cases match and %d differ: remove or narrow it", l, n[1], n[0]))
		}
	}
	return lines
}

// String names the listing.
func (l *Listing) String() string { return fmt.Sprintf("listing %s %s %q", l.File, l.Source, l.Output) }

// check returns what is wrong with the listings themselves: each needs a reason,
// and a case among those that the package owns.
func (list Listings) check(owned []*Case) (faults []string) {
	for i := range list {
		l := &list[i]
		if len(l.Reason) < 20 {
			faults = append(faults, fmt.Sprintf("%v has no reason", l))
		}
		if !l.SecondSet && !slices.ContainsFunc(owned, func(c *Case) bool { return (l.Output == "" || c.hasOutput(l.Output)) && l.fits(c) }) {
			faults = append(faults, fmt.Sprintf("%v covers no case: remove it", l))
		}
	}
	return faults
}

func (c *Case) hasOutput(pattern string) bool {
	for key, value := range c.Outputs {
		if matchOutput(pattern, key) {
			return true
		}
		if inner, ok := value.(map[string]any); ok {
			for name := range inner {
				if matchOutput(pattern, key+"/"+name) {
					return true
				}
			}
		}
	}
	return false
}

// count is the sum of one folder of one set.
type count struct{ matched, listed, failed, outputs int }

// later reports whether a case comes from a file that only the second set has, of a
// function that no matcher and no listing here knows: of a method not yet built.
func (c *Case) later(matchers []Matcher, listings Listings) bool {
	return c.Set == "second" && !slices.ContainsFunc(matchers, func(m Matcher) bool { return covers(c, m.File, "") }) &&
		!slices.ContainsFunc(listings, func(l Listing) bool { return l.Output == "" && covers(c, l.File, "") })
}

// skipped logs the files of such cases, with their number.
func skipped(t *testing.T, cases []*Case) {
	t.Helper()
	number, files := map[string]int{}, []string{}
	for _, c := range cases {
		if number[c.File]++; number[c.File] == 1 {
			files = append(files, c.File)
		}
	}
	for _, file := range files {
		t.Logf("golden second %s: %d cases skipped: only this set has the file, and nothing here answers for it", file, number[file])
	}
}

// Failures gives a case that is in no file to a matcher, and returns what differs.
func Failures(c *Case, m Matcher) []string {
	k := &Check{c: c, seen: map[string]bool{}, tally: tally{}}
	k.guarded(func() { k.run([]Matcher{m}) })
	k.guarded(k.unclaimed)
	return k.failures
}

// Run is the Golden test of one package: every case the package owns is either
// listed or matched on every output. It logs the counts per folder, and the files of
// a second set that are skipped.
func Run(t *testing.T, pkg string, matchers []Matcher, listings Listings) {
	t.Helper()
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	owned := slices.DeleteFunc(cases, func(c *Case) bool { return owner(c) != pkg })
	for _, fault := range listings.check(owned) {
		t.Error(fault)
	}
	counts, tallies := map[string]*count{}, map[string]tally{}
	var unknown []*Case
	for _, c := range owned {
		if c.later(matchers, listings) {
			unknown = append(unknown, c)
			continue
		}
		n := counts[c.Set+" "+c.Folder()]
		if n == nil {
			n = &count{}
			counts[c.Set+" "+c.Folder()] = n
		}
		if tallies[c.Set] == nil {
			tallies[c.Set] = tally{}
		}
		k := &Check{c: c, seen: map[string]bool{}, listings: listings, tally: tallies[c.Set]}
		var whole *Listing
		k.guarded(func() { k.run(matchers) })
		k.guarded(k.unclaimed)
		k.guarded(func() { whole = listings.of(c, "") })
		if l := whole; l != nil {
			n.listed++
			k.tally.add(l, k.compared == 0 || len(k.failures) > 0)
			continue
		}
		if k.compared == 0 && len(k.failures) == 0 { // every output of the case is listed
			n.listed++
			continue
		}
		n.outputs += k.listed
		if len(k.failures) > 0 {
			n.failed++
			t.Errorf("%s set, %v (%s)\n\t%s", c.Set, c, c.Source, strings.Join(k.failures, "\n\t"))
			continue
		}
		n.matched++
	}
	skipped(t, unknown)
	for set, used := range tallies {
		for _, line := range used.stale(listings) {
			t.Errorf("%s set, %s", set, line)
		}
	}
	folders := make([]string, 0, len(counts))
	for f := range counts {
		folders = append(folders, f)
	}
	slices.Sort(folders)
	for _, f := range folders {
		n := counts[f]
		t.Logf("golden %-18s matched %4d  listed %3d  failed %3d  (single outputs listed: %d)",
			f, n.matched, n.listed, n.failed, n.outputs)
	}
}

// SlimeMIS is slime's custom truncation and rejection, as its parameters say it.
type SlimeMIS struct {
	// Level is the unit of the weight: token, sequence or geometric. Floor and Cap
	// truncate it.
	Level      string
	Floor, Cap float64
	// Low and High are the bounds that slime counts weights beyond.
	Low, High float64
	// Ranges reject what leaves them.
	Ranges []SlimeRange
	// Veto is the smallest ratio of a token that a response may contain, 0 for none.
	Veto float64
}

// SlimeRange is a range of the ratio at a level.
type SlimeRange struct {
	Level     string
	Low, High float64
}

// ReadSlimeMIS reads the parameters of a case.
func ReadSlimeMIS(v Values) SlimeMIS {
	high := v.Float("tis_upper_bound")
	m := SlimeMIS{Level: v.String("tis_level"), Cap: high, Low: v.FloatOr("tis_lower_bound", 1/high), High: high}
	switch v.String("tis_mode") {
	case "clip":
		m.Floor = m.Low
	case "mask":
		m.Cap = math.Inf(1)
		m.Ranges = append(m.Ranges, SlimeRange{m.Level, m.Low, m.High})
	}
	if v.Bool("use_rs") {
		high := v.FloatOr("rs_upper_bound", high)
		m.Ranges = append(m.Ranges, SlimeRange{v.String("rs_level"), v.FloatOr("rs_lower_bound", v.FloatOr("tis_lower_bound", 1/high)), high})
		m.Veto = v.FloatOr("rs_veto_threshold", 0)
	}
	return m
}
