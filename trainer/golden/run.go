package golden

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
)

// Matcher holds the cases of one function of a peer against our code. The
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

// covers reports whether file and source patterns fit the case.
func covers(c *Case, file, source string) bool {
	ok, err := path.Match(file, c.File)
	if err != nil {
		panic(fmt.Sprintf("golden: bad pattern %q: %v", file, err))
	}
	return ok && strings.Contains(c.Source, source)
}

// ListedCase returns the listing of the whole case, or nil.
func ListedCase(c *Case) *Listing { return listed(c, "") }

// listed finds the listing of an output, or of the whole case for "".
func listed(c *Case, output string) *Listing {
	for i := range Listed {
		l := &Listed[i]
		if (l.Output == "") != (output == "") || !covers(c, l.File, l.Source) {
			continue
		}
		if output != "" && !matchOutput(l.Output, output) {
			continue
		}
		if l.When == nil || l.When(c) {
			return l
		}
	}
	return nil
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
func (t tally) stale() []string {
	var lines []string
	for i := range Listed {
		l := &Listed[i]
		if n := t[l]; n != nil && n[1] > 0 && (n[0] == 0 || l.Output == "") {
			lines = append(lines, fmt.Sprintf("listing %s %s %q: %d cases match and %d differ: remove or narrow it", l.File, l.Source, l.Output, n[1], n[0]))
		}
	}
	return lines
}

// count is the sum of one folder of one set.
type count struct{ matched, listed, failed, outputs int }

// Run is the Golden test of one package: every case the package owns is either
// listed or matched on every output. It logs the counts per folder.
func Run(t *testing.T, pkg string, matchers []Matcher) {
	t.Helper()
	cases, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	counts, tallies := map[string]*count{}, map[string]tally{}
	for _, c := range cases {
		if Owner(c) != pkg {
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
		k := &Check{c: c, seen: map[string]bool{}, tally: tallies[c.Set]}
		k.run(matchers)
		k.unclaimed()
		if l := ListedCase(c); l != nil {
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
	for set, listings := range tallies {
		for _, line := range listings.stale() {
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
