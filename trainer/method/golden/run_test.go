package golden

import (
	"fmt"
	"maps"
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

// Listings are a list of them.
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
	ok, err := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(output, "/", "\x00"))
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

// check returns what is wrong with the listings themselves: each needs a reason, and a case.
func (list Listings) check(cases []*Case) (faults []string) {
	for i := range list {
		l := &list[i]
		if len(l.Reason) < 20 {
			faults = append(faults, fmt.Sprintf("%v has no reason", l))
		}
		if !l.SecondSet && !slices.ContainsFunc(cases, func(c *Case) bool { return (l.Output == "" || c.hasOutput(l.Output)) && l.fits(c) }) {
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

// outcome is the sum of one folder of one set.
type outcome struct{ matched, listed, failed, outputs int }

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

// TestGolden compares the trainer with what the reference implementations compute: every
// case is either listed or matched on every output. It logs the counts per folder, and the
// files of a second set that are skipped.
func TestGolden(t *testing.T) {
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range allListings.check(cases) {
		t.Error(fault)
	}
	used := make([]bool, len(allMatchers))
	counts, tallies := map[string]*outcome{}, map[string]tally{}
	var unknown []*Case
	for _, c := range cases {
		if c.later(allMatchers, allListings) {
			unknown = append(unknown, c)
			continue
		}
		n := counts[c.Set+" "+c.Folder()]
		if n == nil {
			n = &outcome{}
			counts[c.Set+" "+c.Folder()] = n
		}
		if tallies[c.Set] == nil {
			tallies[c.Set] = tally{}
		}
		k := &Check{c: c, seen: map[string]bool{}, listings: allListings, tally: tallies[c.Set]}
		var whole *Listing
		k.guarded(func() {
			if at := k.run(allMatchers); at >= 0 {
				used[at] = true
			}
		})
		k.guarded(k.unclaimed)
		k.guarded(func() { whole = allListings.of(c, "") })
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
	for i, m := range allMatchers {
		if !used[i] {
			t.Errorf("the matcher of %s %s covers no case: remove it, or list it earlier", m.File, m.Source)
		}
	}
	for set, used := range tallies {
		for _, line := range used.stale(allListings) {
			t.Errorf("%s set, %s", set, line)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(counts)) {
		n := counts[f]
		t.Logf("golden %-18s matched %4d  listed %3d  failed %3d  (single outputs listed: %d)",
			f, n.matched, n.listed, n.failed, n.outputs)
	}
}
