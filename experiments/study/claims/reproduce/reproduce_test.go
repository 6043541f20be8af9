package reproduce

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"driftlab/experiments/measurements"
	"driftlab/experiments/studies"
	"driftlab/experiments/study"
	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/precision/must"
	"driftlab/results"
	"driftlab/results/record"
)

var exhaustive = flag.Bool("exhaustive", false, "measure every claim, as in nightly tests, in place of those of a few training runs")

// update writes the published verdicts, pages and pictures anew from the published observations.
var update = flag.Bool("update", false, "write the published pages of claims anew")

// manyRuns are claims of many training runs, which together take longer than all others: their arms differ from those
// of others in recipes alone. Scaling has a test of its own package.
var manyRuns = []string{
	"areal-table", "budget", "entropy-law", "fp8-needs-correction", "gap-scaling", "hard-prompts", "is-removal", "kernel-vs-n", "lag-law", "lag-law-tasks", "logit-fusion", "mis-vs-tis",
	"null-agree", "opd-gate", "passk-reward", "penalty-trio", "prm-flattening", "r2-vs-r3", "routing-penalty", "sanity-set", "separate-norm", "sga-frontier", "stale-256", "unified-flow",
	"bound-or-mask", "fusion-decay", "gap-timing", "kl-over-epochs", "kv-mask", "label-noise", "lag-tolerance", "opd-coefficient", "passk-then-one", "router-of-a-reference",
	"stale-drafter", "stale-losses", "stale-masks", "topr-lag", "tree-policy", "turn-credit", "weight-and-clip",
	"areal-bounds", "fusion-mixtures", "lag-rate-law", "lagging-values", "oapl-448", "process-verbosity", "replay-minibatches", "reply-weights", "two-bounds", "zero-pass-rate",
}

// identities: each exact check of the claim is met where it is published. An enumeration over random draws may also
// refute a statement; then its checks are no identities, and one tiny draw may come out either way.
func identities(t *testing.T, id string) bool {
	t.Helper()
	list := must.Get(judgedPublished())(t)
	for i := range list {
		for _, c := range list[i].Evidence.Checks {
			if list[i].Claim.ID == id && c.Level == judge.Exact && c.Outcome != judge.Passed && c.Outcome != judge.Reported {
				return false
			}
		}
	}
	return true
}

// named are what a claim's file has of the library: measurements, questions, and functions by their calls or names.
func named(t *testing.T, c claim.Claim) (names []string) {
	t.Helper()
	text := must.Get(fs.ReadFile(studies.Claims, path.Join("claims", c.Theme, c.ID+".yaml")))(t)
	lib := &measurements.Library
	add := func(form string, list iter.Seq[string]) {
		for name := range list {
			if mark := fmt.Sprintf(form, name); strings.Contains(string(text), mark) {
				names = append(names, mark)
			}
		}
	}
	add("\nmeasure: %s\n", maps.Keys(lib.Measurements))
	add("\n  - %s:\n", maps.Keys(lib.Measurements))
	add("question: %s,", maps.Keys(lib.Questions))
	add("%s(", maps.Keys(lib.Lists))
	add("%s(", maps.Keys(lib.Units))
	add("test: %s,", maps.Keys(lib.Tests))
	add("function: %s", maps.Keys(lib.Notes))
	add("function: %s", maps.Keys(lib.Figures))
	return append(names, string(c.Unit))
}

// TestEveryClaimRuns measures claims at the tiny size: with -exhaustive all, otherwise of those of a few training runs
// the ones that name a part of the library that none before names. The figures mean nothing, but
// what is exact must hold at any size if all of it holds where it is published, and the page must have a picture for every claim.
func TestEveryClaimRuns(t *testing.T) {
	var ids []string
	seen := map[string]bool{}
	for _, c := range claims.All() {
		if c.Study != "" {
			continue // its runs are the study's
		}
		fresh := false
		if !*exhaustive && !slices.Contains(manyRuns, c.ID) {
			for _, name := range named(t, c) {
				fresh, seen[name] = fresh || !seen[name], true
			}
		}
		if *exhaustive || fresh {
			ids = append(ids, c.ID)
		}
	}
	list := must.Get(Run(context.Background(), Options{Claims: ids, Seeds: 1, Size: claim.Tiny, Dir: t.TempDir(), Workers: 2}))(t)
	if len(list) != len(ids) {
		t.Fatalf("%d claims of %d", len(list), len(ids))
	}
	for i := range list {
		r := &list[i]
		id := r.Claim.ID
		if !r.Provisional() {
			t.Errorf("%s: one tiny replication passes for a verdict", id)
		}
		if r.Evidence.Picture == nil {
			t.Errorf("%s: no picture", id)
		}
		if d := r.decisive(); d == nil || d.Outcome == judge.Reported {
			t.Errorf("%s: nothing is judged", id)
		}
		for _, c := range r.Evidence.Checks {
			// Sampled estimates are exact in distribution only; at this size they may stray.
			if c.Level == judge.Exact && c.Outcome != judge.Passed && c.Outcome != judge.Reported && !strings.Contains(c.Name, "standard errors") && identities(t, id) {
				t.Errorf("%s: %s: %+v, %s", id, c.Name, c.Value, c.Outcome)
			}
		}
	}
	page := Report(list)
	html := string(page.HTML())
	for i := range list {
		if !strings.Contains(html, "simulate reproduce "+list[i].Claim.ID+" --seeds 1") {
			t.Errorf("%s: the page does not say how to run it again", list[i].Claim.ID)
		}
	}
	if rows := len(VerdictTable(list).Rows); rows != len(list) {
		t.Errorf("verdict table has %d rows", rows)
	}
}

// cheap are claims that need no model.
var cheap = []string{"k-estimators", "three-policy-bound"}

// render is everything a reproduction says, as bytes.
func render(t *testing.T, list []Result) string {
	t.Helper()
	page := Report(list)
	return string(page.HTML()) + VerdictTable(list).Markdown()
}

// TestDeterminism: neither the number of workers nor the order of the claims
// nor a directory changes a byte.
func TestDeterminism(t *testing.T) {
	run := func(o Options) string {
		o.Seeds, o.Size = 2, claim.Tiny
		list := must.Get(Run(context.Background(), o))(t)
		slices.SortFunc(list, func(a, b Result) int { return strings.Compare(a.Claim.ID, b.Claim.ID) })
		return render(t, list)
	}
	dir := t.TempDir()
	want := run(Options{Claims: append([]string{"support-bias"}, cheap...), Workers: 1})
	for name, o := range map[string]Options{
		"three workers, other order": {Claims: append(slices.Clone(cheap), "support-bias"), Workers: 3},
		"in a folder":                {Claims: append([]string{"support-bias"}, cheap...), Dir: dir},
		"read back":                  {Claims: append([]string{"support-bias"}, cheap...), Dir: dir},
	} {
		if got := run(o); got != want {
			t.Errorf("%s: other bytes", name)
		}
	}
}

// TestResume interrupts a reproduction after its second seed; taken up again it
// measures only the rest and comes to the same bytes.
func TestResume(t *testing.T) {
	dir := t.TempDir()
	o := Options{Claims: cheap, Seeds: 5, Size: claim.Tiny, Dir: dir}
	ctx, cancel := context.WithCancel(context.Background())
	o.Progress = func(p study.Progress) {
		if p.Done == 2 {
			cancel()
		}
	}
	if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("cancelled: %v", err)
	}
	if s := List(dir)[slices.Index(claims.IDs(), cheap[0])]; s.Status != "partial" || s.Verdict != "" {
		t.Errorf("after an interruption: %+v", s)
	}
	var last study.Progress
	o.Progress = func(p study.Progress) { last = p }
	resumed := must.Get(Run(context.Background(), o))(t)
	if last.Kept != 2 || last.Done != 10 || last.Total != 10 {
		t.Errorf("resumed: %+v, want 2 of 10 kept", last)
	}
	o.Dir = ""
	fresh := must.Get(Run(context.Background(), o))(t)
	if render(t, resumed) != render(t, fresh) {
		t.Error("an interruption changed the page")
	}
}

// TestListJSON checks the fields that programs read.
func TestListJSON(t *testing.T) {
	dir := t.TempDir()
	must.Get(Run(context.Background(), Options{Claims: cheap[:1], Seeds: 1, Size: claim.Tiny, Dir: dir}))(t)
	text := must.Get(json.Marshal(List(dir)))(t)
	var list []map[string]any
	must.Do(t, json.Unmarshal(text, &list))
	for _, line := range list {
		for _, field := range []string{"id", "theme", "title", "declared", "first_version", "p_holm", "sentence", "unit", "own", "source", "published", "status", "verdict", "fresh"} {
			if _, ok := line[field]; !ok {
				t.Errorf("%v: no %s", line, field)
			}
		}
		want := []string{"published", "not run"}
		if line["id"] == cheap[0] {
			want = []string{"quick"}
		}
		if status, _ := line["status"].(string); !slices.Contains(want, status) || (line["verdict"] == "") != (line["status"] == "not run") {
			t.Errorf("%s: status %q, verdict %q", line["id"], line["status"], line["verdict"])
		}
	}
}

// TestDamagedObservation: an observation that is not the one that was written is named, whatever
// was changed, and never judged; without its line it is measured again.
func TestDamagedObservation(t *testing.T) {
	dir := t.TempDir()
	o := Options{Claims: cheap[:1], Seeds: 2, Size: claim.Tiny, Dir: dir}
	must.Get(Run(context.Background(), o))(t)
	c, _ := claims.Lookup(cheap[0])
	at := claimFolder(dir, c)
	f := must.Get(openFolder(dir, c, claim.Tiny))(t)
	cell, err := f.Cell(f.key(1))
	if keys, _ := f.Keys(); err != nil || len(keys) != 2 {
		t.Fatalf("%d observations (%v), want 2", len(keys), err)
	}
	file, packed := filepath.Join(at, record.CellsFile), filepath.Join(at, record.PackedCells)
	whole := must.Get(os.ReadFile(packed))(t)
	must.Do(t, os.Remove(packed))
	f = must.Get(openFolder(dir, c, claim.Tiny))(t)
	must.Do(t, f.Add(cell))
	f.Close()
	one := must.Get(os.ReadFile(file))(t)
	changed := slices.Clone(one)
	changed[bytes.LastIndexAny(one[:bytes.LastIndexByte(one, ']')], "12345678")]++
	write(t, file, append(changed, one...))
	if _, err := Run(context.Background(), o); err == nil || !strings.Contains(err.Error(), file+":1: not as it was written") {
		t.Errorf("a digit: %v", err)
	}
	if list, err := Kept(dir); len(list) != 0 || err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a digit: judged again: %d claims, %v", len(list), err)
	}
	write(t, file, append(slices.Clone(one), one[:len(one)/2]...))
	if list, err := Kept(dir); len(list) != 0 || err == nil || !strings.Contains(err.Error(), "1 of their observations are missing, such as tiny-v") {
		t.Errorf("missing: %d claims, %v", len(list), err)
	}
	if _, err := Run(context.Background(), o); err != nil {
		t.Errorf("torn, it is not measured again: %v", err)
	}
	if again, err := os.ReadFile(packed); err != nil || !bytes.Equal(again, whole) {
		t.Errorf("measured again it is another one (%v)", err)
	}
	write(t, filepath.Join(at, record.SumsFile), nil)
	if _, err := Kept(dir); err == nil || !strings.Contains(err.Error(), "it has no seal in ") {
		t.Errorf("without the seal of the verdict: %v", err)
	}
}

func write(t *testing.T, path string, text []byte) {
	t.Helper()
	must.Do(t, os.WriteFile(path, text, 0o666))
}

// TestUnknownClaim names the nearest one.
func TestUnknownClaim(t *testing.T) {
	_, err := Run(context.Background(), Options{Claims: []string{"length-trip"}})
	if err == nil || !strings.Contains(err.Error(), "length-trap") {
		t.Errorf("unknown claim: %v", err)
	}
}

// A claim is measured seed by seed and judged by its own threshold. Tiny
// measurements make a preview, which the question mark says.
func ExampleRun() {
	list, err := Run(context.Background(), Options{Claims: []string{"three-policy-bound"}, Seeds: 5, Size: claim.Tiny})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range list {
		fmt.Println(r.Claim.Title, "-", r.verdictText())
		d := judge.Decisive(r.Evidence.Checks)
		fmt.Printf("%s: %s, %s\n", d.Name, d.Needs, d.Outcome)
	}
	// Output:
	// In small decision processes the three-policy bound leaves more than ten times the gap that is there - reproduced, preview
	// room of the bound over |J - L|, median: interval above 10, passed
}

// TestClaimFolder: what a claim leaves for readers, and that a
// directory's verdicts can be judged again without measuring.
func TestClaimFolder(t *testing.T) {
	dir := t.TempDir()
	ids := []string{"k-estimators", "batch-invariant-zero"}
	list := must.Get(Run(context.Background(), Options{Claims: ids, Seeds: 1, Size: claim.Tiny, Dir: dir}))(t)
	for i, arms := range []int{0, 3} {
		r := &list[i]
		if len(r.Arms) != arms {
			t.Errorf("%s: %d training runs, want %d", r.Claim.ID, len(r.Arms), arms)
		}
		page, err := os.ReadFile(filepath.Join(dir, "claims", r.Claim.ID, pageFile))
		if err != nil || string(page) != r.markdown() {
			t.Errorf("%s: its page is not what Markdown says (%v)", r.Claim.ID, err)
		}
		for _, want := range []string{r.Claim.Statement, r.verdictText(), pictureFile, r.again().Command} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s: the page lacks %q", r.Claim.ID, want)
			}
		}
		picture, err := os.ReadFile(filepath.Join(dir, "claims", r.Claim.ID, pictureFile))
		if err != nil || !bytes.Equal(picture, results.SVG(r.Evidence.Picture)) {
			t.Errorf("%s: no picture (%v)", r.Claim.ID, err)
		}
	}
	for _, arm := range list[1].Arms {
		if !strings.HasPrefix(arm.Command, "simulate train headline --set steps=2 ") || !strings.Contains(arm.Command, " --set checkpoint=") || !strings.HasSuffix(arm.Command, " --seed 1") {
			t.Errorf("%s: the command %s", arm.Name, arm.Command)
		}
	}
	kept := must.Get(Kept(dir))(t)
	slices.SortFunc(list, func(a, b Result) int {
		return slices.Index(claims.IDs(), a.Claim.ID) - slices.Index(claims.IDs(), b.Claim.ID)
	})
	if render(t, kept) != render(t, list) {
		t.Error("judging a directory again changed the page")
	}
}

var publishedDir = filepath.Join("..", "..", "..", "..", "results", "published")

// judgedPublished judges what is published, once for all tests.
var judgedPublished = sync.OnceValues(func() ([]Result, error) { return Kept(publishedDir) })

// TestVerdictsOverLadders: where a study over a ladder of learning rates answers a claim, every
// page has its verdict first, and that of the claim's own check after it.
func TestVerdictsOverLadders(t *testing.T) {
	list := must.Get(judgedPublished())(t)
	rows := strings.Split(Verdicts(list), "\n")
	answered := 0
	for i := range list {
		r := &list[i]
		l := r.ladder()
		if l == nil {
			continue
		}
		answered++
		if s := r.summary()[0]; !strings.HasPrefix(s, "**Verdict: "+string(l.Verdict)+".** It is that of `stability/"+l.Study+"`") || !strings.Contains(s, "own learning rates the verdict is: "+string(r.own())+". ") {
			t.Errorf("%s begins with %q", r.Claim.ID, s)
		}
		row := rows[slices.IndexFunc(rows, func(row string) bool { return strings.Contains(row, "**"+r.Claim.ID+"**") })]
		if cells := strings.Split(row, "|"); strings.TrimSpace(cells[2]) != "**"+string(l.Verdict)+"**" || !strings.Contains(row, l.Check) || !strings.Contains(row, l.Effect) {
			t.Errorf("the page of verdicts has %s", row)
		}
	}
	if answered == 0 {
		t.Error("no claim is answered over a ladder")
	}
}

// TestPublishedObservations: what is published can be judged again, and comes to the published
// verdicts, pages and pictures, byte for byte.
func TestPublishedObservations(t *testing.T) {
	list := must.Get(judgedPublished())(t)
	verdicts := map[string]judge.Verdict{}
	for _, s := range List("") {
		if s.Status == "published" {
			verdicts[s.ID] = s.Own.Verdict
		}
		if s.OwnCheck() && s.Verdict != judge.Undecided && (s.Own.Verdict != s.Verdict || s.Fresh == nil || s.Fresh.Verdict != s.Verdict) {
			t.Errorf("%s: %s, which new seeds do not repeat", s.ID, s.Verdict)
		}
	}
	if len(list) == 0 || len(list) != len(verdicts) {
		t.Errorf("%d claims can be judged again, %d verdicts are published", len(list), len(verdicts))
	}
	for i := range list {
		if got := list[i].Verdict; got != verdicts[list[i].Claim.ID] {
			t.Errorf("%s: judged again it is %s, published is %s", list[i].Claim.ID, got, verdicts[list[i].Claim.ID])
		}
	}
	pages := map[string][]byte{"verdicts.md": []byte(Verdicts(list)), "conjectures.md": []byte(Conjectures(list)), "seeds.md": []byte(seedsPage(t, list))}
	for i := range list {
		r := &list[i]
		if *update {
			f := must.Get(openFolder(publishedDir, r.Claim, r.Size))(t)
			must.Do(t, r.write(f))
		}
		pages[path.Join(r.Claim.ID, pageFile)], pages[path.Join(r.Claim.ID, verdictFile)] = []byte(r.markdown()), verdictText(r)
		pages[path.Join(r.Claim.ID, pictureFile)] = results.SVG(r.Evidence.Picture)
	}
	for name, want := range pages {
		at := filepath.Join(publishedDir, "claims", name)
		if *update && path.Dir(name) == "." {
			write(t, at, want)
		}
		if text, err := os.ReadFile(at); err != nil || !bytes.Equal(text, want) {
			t.Errorf("the published %s is not that of the published observations (%v)", name, err)
		}
	}
}

// TestConjectures: each names claims that there are, or where else its answer stands.
func TestConjectures(t *testing.T) {
	unmeasured := 0
	for _, c := range conjectures() {
		unmeasured += len(c.Claims)
		if len(c.Claims) == 0 && !c.Alarms {
			t.Errorf("%s has no answer", c.Name)
		}
		for _, id := range c.Claims {
			if _, ok := claims.Lookup(id); !ok {
				t.Errorf("%s: no claim %s", c.Name, id)
			}
		}
	}
	if text := Conjectures(nil); strings.Count(text, "Not measured yet") != unmeasured {
		t.Errorf("without results:\n%s", text)
	}
}

// TestAgreement: the published results agree with themselves, another verdict is named, and a preview counts for none.
func TestAgreement(t *testing.T) {
	list := slices.DeleteFunc(slices.Clone(must.Get(judgedPublished())(t)), func(r Result) bool { return r.Provisional() })
	if got, want := Agreement(list), fmt.Sprintf("%d of %[1]d verdicts are the published ones.\n", len(list)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	i := slices.IndexFunc(list, func(r Result) bool { return r.own() == judge.Reproduced && r.Fresh != nil })
	other, preview := list[i], list[i]
	other.Verdict = judge.Refuted
	preview.Size = claim.Quick
	if got, want := Agreement([]Result{other, preview}), fmt.Sprintf("0 of 1 verdicts are the published ones; %s is undecided, published as reproduced.\n", other.Claim.ID); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Agreement([]Result{preview}); got != "" {
		t.Errorf("a preview: %q", got)
	}
}

// TestFresh: a second measurement with other seeds is judged by itself, stays
// when the first is run again alone, and is on every page.
func TestFresh(t *testing.T) {
	dir := t.TempDir()
	o := Options{Claims: cheap[:1], Seeds: 2, Size: claim.Tiny, Dir: dir, Fresh: true}
	both := must.Get(Run(context.Background(), o))(t)
	if f := both[0].Fresh; f == nil || !slices.Equal(f.Seeds, []uint64{freshBase, freshBase + 1}) || !slices.Equal(both[0].Seeds, []uint64{1, 2}) {
		t.Fatalf("fresh seeds: %+v, first %v", f, both[0].Seeds)
	}
	if text := both[0].markdown(); !strings.Contains(text, "New seeds: "+string(both[0].Fresh.Verdict)) || !strings.Contains(text, "--fresh") {
		t.Errorf("the page does not show them:\n%s", text)
	}
	o.Fresh = false
	again := must.Get(Run(context.Background(), o))(t)
	kept := must.Get(Kept(dir))(t)
	if render(t, again) != render(t, both) || render(t, kept) != render(t, both) {
		t.Error("fresh seeds are lost when the first ones are run again")
	}
	// The verdict's file is cut: it is named, and made again with all that is there.
	file := filepath.Join(dir, "claims", cheap[0], verdictFile)
	whole := must.Get(os.ReadFile(file))(t)
	write(t, file, whole[:len(whole)/2])
	if _, err := Kept(dir); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a cut verdict: %v", err)
	}
	if s := List(dir)[slices.Index(claims.IDs(), cheap[0])]; s.Status != "damaged" {
		t.Errorf("a cut verdict: %+v", s)
	}
	if again, err := Run(context.Background(), o); err != nil || render(t, again) != render(t, both) {
		t.Errorf("the fresh seeds are lost with the verdict's file (%v)", err)
	}
	if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, whole) {
		t.Errorf("the verdict's file is another one (%v)", err)
	}
}
