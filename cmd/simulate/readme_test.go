package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/study/claims"
	"driftlab/precision/must"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"

	"github.com/alecthomas/kong"
)

// readmeCommands are the command lines of a page: what follows the program's name
// in the lines that are set in, without their comments, and in `quotes`.
func readmeCommands(page string) [][]string {
	var commands [][]string
	line := regexp.MustCompile(`(?m)^ {4}.*?(?:\./simulate|go run \./cmd/simulate)\b([^#|\n)]*)`)
	quoted := regexp.MustCompile("`(?:\\./)?simulate ([^`]+)`")
	for _, match := range slices.Concat(line.FindAllStringSubmatch(page, -1), quoted.FindAllStringSubmatch(page, -1)) {
		commands = append(commands, strings.Fields(match[1]))
	}
	return commands
}

// wrong says why a command line could not be run, nil if it could.
func wrong(args []string) (err error) {
	defer func() {
		if e, ok := recover().(exit); ok && e != 0 {
			err = bad("exit status %d", int(e))
		}
	}()
	var c cli
	parser := newParser(&app{stdout: io.Discard, stderr: io.Discard}, &c)
	k, err := parser.Parse(args)
	if err != nil {
		return withSuggestion(err, parser.Model, args)
	}
	return knownNames(k, &c)
}

// knownNames looks up what a command line names.
func knownNames(k *kong.Context, c *cli) error {
	var err error
	switch command, _, _ := strings.Cut(k.Command(), " "); command {
	case "headline":
		err = chooseArms(shippedPlan("headline"), c.Headline.Arms)
	case "measure":
		c.Measure.setBy("--rollout", "rollout.numerics", c.Measure.Rollout)
		c.Measure.setBy("--learner", "learner.numerics", c.Measure.Learner)
		_, err = c.Measure.load(c.Measure.Recipe)
	case "train":
		_, err = c.Train.load(c.Train.Recipe)
	case "compare":
		for _, name := range c.Compare.Recipes {
			if _, failed := c.Compare.load(name); failed != nil {
				err = failed
			}
		}
	case "reproduce":
		for _, id := range c.Reproduce.Claims {
			if _, ok := claims.Lookup(id); !ok && !(c.Reproduce.List && len(claimsAbout(id)) > 0) {
				err = bad("no claim %s", id)
			}
		}
	case "methods":
		name := c.Methods.Name
		if !slices.Contains([]string{"", "recipes", "systems", "numerics", "presets", "papers", "coverage", "2512.02556", "tanh_pg"}, name) && recipe.LookUp(name) == nil && !slices.Contains(recipe.Names(), name) {
			if !slices.ContainsFunc(printedNames(), func(p namedPage) bool { return p.Name == name }) {
				_, err = findMethods(name)
			}
		}
	}
	return err
}

// placeholders stand for any name in a command line.
var placeholders = []string{"NAME", "SETTING", "FILE"}

// pages are the README and the pages that it links to, but for what is published.
func pages(t *testing.T) map[string]string {
	t.Helper()
	readme := must.Get(os.ReadFile("../../README.md"))(t)
	all := map[string]string{"README.md": string(readme)}
	for _, link := range regexp.MustCompile(`\]\(([^)#]+\.md)`).FindAllStringSubmatch(string(readme), -1) {
		text, err := os.ReadFile(filepath.Join("../..", link[1]))
		if err != nil {
			t.Errorf("README.md: %v", err)
		}
		if !strings.HasPrefix(link[1], "results/published/") {
			all[link[1]] = string(text)
		}
	}
	return all
}

// TestPageLinks: what the pages link to is there.
func TestPageLinks(t *testing.T) {
	for name, text := range pages(t) {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join("../..", filepath.Dir(name), link[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestReadmeIsShort: the README is an entry; everything else has a page of its own.
func TestReadmeIsShort(t *testing.T) {
	page := pages(t)["README.md"]
	if n := strings.Count(page, "\n"); n > 120 || len(page) > 7000 {
		t.Errorf("the README has %d lines and %d bytes: 120 and 7,000 are its limits", n, len(page))
	}
}

// readmeAnswers are the README's lines on what to do, as the map of stability has them.
func readmeAnswers(t *testing.T) []string {
	t.Helper()
	m := stability.Published()
	answer := func(problem string) stability.Answer {
		a, ok := m.Answer(problem)
		if !ok {
			t.Fatalf("the map has no answer to %s", problem)
		}
		return a
	}
	stale, natural, routing := answer("staleness"), answer("natural"), answer("routing")
	lines := []string{
		fmt.Sprintf("- **Stale rollouts** (a lag of 16 batches): lower the learning rate first. The largest stable one is %s of that of equal engines.", factor(stale.None.OverEqual)),
		fmt.Sprintf("- **A gap of natural size** (fp8 rollouts, bf16 learner): correct nothing. Training ends at %.2f, with equal engines at %.2f.", natural.None.Level.Estimate, natural.Equal.Level.Estimate),
		fmt.Sprintf("- **A large routing gap** (a 4-bit router): no learning rate removes it; correct it. Without a correction training ends at %.2f at its best rate.", routing.None.Level.Estimate),
	}
	if stale.Arm != nil {
		topr := m.Study("claims-staleness").Arm("16", "topr")
		if !(topr.OverNone.Low > 1) {
			t.Error("topr does not raise the limit")
		}
		fresh := m.Study("size").Arm("0.103M, 16", stale.Arm.Method)
		ends := func(a *stability.Arm, rates ...float64) string {
			for _, rate := range rates {
				if r := a.At(rate); rate <= float64(stale.None.Limit.To) || 2*r.Stable < r.Runs || r.Runs < stability.LeastModels || stats.Average(r.Finals) >= float64(stale.None.Level.Low) {
					t.Errorf("with %s %s is not stable, or does not end lower", stability.RateName(rate), a.Method)
				}
			}
			list := stats.Map(rates, func(rate float64) string {
				return fmt.Sprintf("%.2f with %s", stats.Average(a.At(rate).Finals), stability.RateName(rate))
			})
			return "at " + strings.Join(list, ", ")
		}
		lines[0] += fmt.Sprintf(" `%s` allows %s times the rate (%s on five other models) and ends lower there: %s; without a correction at %.2f with its best rate. [`topr`](results/published/stability/claims-staleness/README.md) (ROLL's differs) allows %s times the rate and ends %s.",
			stale.Arm.Method, factor(stale.Arm.OverNone), factor(fresh.OverNone), ends(stale.Arm, 1e-3, 2e-3), stale.None.Level.Estimate, factor(topr.OverNone), ends(topr, 1e-3))
	}
	if natural.Arm != nil {
		t.Errorf("a correction helps under a natural gap: %s", natural.Text)
	}
	if routing.Arm != nil {
		if slices.ContainsFunc(setting(routing.Arm.Method).Frameworks, func(f frameworkLines) bool { return f.Text != "" }) {
			t.Errorf("a framework has %s", routing.Arm.Method)
		}
		ends, harmful := []string{fmt.Sprintf("`%s` (`r3` that replays the gate values as well; no framework that we read has it) ends at %.2f", routing.Arm.Method, routing.Arm.Level.Estimate)}, []string(nil)
		for _, a := range routing.Also {
			ends = append(ends, fmt.Sprintf("`%s` at %.2f", a.Method, a.Level.Estimate))
		}
		for _, a := range routing.Harmful {
			harmful = append(harmful, fmt.Sprintf("`%s` (%.2f)", a.Method, a.Level.Estimate))
		}
		lines[2] += " " + strings.Join(ends, ", ") + ". Do not use " + strings.Join(harmful, " or ") + "."
	}
	tasks := m.Study("corrections")
	allows := func(of *stability.Study, stressor, method string) string { // times the rate, on the tasks besides the map's own
		var times []string
		for _, task := range []string{"addition", "search"} {
			a := of.Arm(task+", "+stressor, method)
			if !(a.OverNone.Low > 1) {
				t.Errorf("%s raises no limit on %s", method, task)
			}
			times = append(times, factor(a.OverNone))
		}
		return strings.Join(times, " and ")
	}
	for _, of := range [][3]string{{"addition", "sequence-tis-5", "r3"}, {"search", "r3", "sequence-tis-5"}} {
		if one, other := tasks.Arm(of[0]+", router-fp4", of[1]), tasks.Arm(of[0]+", router-fp4", of[2]); one.GainNone.Low <= 0 || other.GainNone.Low > 0 {
			t.Errorf("on %s it is not %s alone that ends significantly higher", of[0], of[1])
		}
	}
	gates := m.Study("recorded-gates")
	for _, task := range []string{"chain", "addition", "search"} {
		if !(gates.Arm(task+", router-fp4", "r3-gates").GainNone.Low > 0) {
			t.Errorf("with recorded gates %s does not end significantly higher", task)
		}
	}
	search := tasks.Arm("search, lag-16", "opsm-1e-4")
	lines = append(lines, fmt.Sprintf("- **Other tasks** ([addition and search](results/published/stability/corrections/README.md)): at a lag of 16 `opsm-1e-4` allows %s times the rate. A stable rate can end lower: on search at %.2f with 4e-3, at %.2f with %s. "+
		"With a 4-bit router `r3` allows %s times the rate, `sequence-tis-5` %s. Of these two, `sequence-tis-5` alone ends significantly higher than no correction on addition, `r3` alone on search. [`r3-gates`](results/published/stability/recorded-gates/README.md) allows %s times the rate and ends significantly higher on all three tasks.",
		allows(tasks, "lag-16", "opsm-1e-4"), stats.Average(search.At(4e-3).Finals), search.Level.Estimate, search.LevelRate, allows(tasks, "router-fp4", "r3"), allows(tasks, "router-fp4", "sequence-tis-5"),
		allows(gates, "router-fp4", "r3-gates")))
	size := m.Study("size")
	for _, p := range size.Predictions {
		if r := float64(p.Measured.From); p.Measured.From != p.Measured.To || r < float64(p.Ratio.Low) || r > float64(p.Ratio.High) {
			t.Errorf("%s is not in the interval of its prediction", p.Arm)
		}
	}
	if !(size.Arm("0.103M, 16", "opsm-1e-4").OverNone.Low > 1) {
		t.Error("opsm-1e-4 does not raise the limit of the smallest model")
	}
	for _, of := range []string{"0.411M", "3.28M"} {
		if r := size.Arm(of+", 16", "opsm-1e-4").OverNone; r.Low > 1 || r.High < 1 {
			t.Errorf("the ratio of opsm-1e-4 is conclusive at %s", of)
		}
	}
	limit := func(of string) string { return stability.RateText(float64(size.Arm(of+", 0", "none").Limit.From)) }
	lag := func(of string) string { return factor(size.Arm(of+", 16", "none").OverEqual) }
	lines = append(lines, fmt.Sprintf("- **Larger models** ([up to 13.1 million parameters](results/published/stability/size/README.md), five base models, three of the largest): the largest stable rate of equal engines falls from %s to %s. A lag of 16 leaves %s of it at 0.10, %s at 3.28, %s at 13.1 million, where %s was predicted. "+
		"Whether `opsm-1e-4` allows a higher rate at 0.41 and 3.28 is inconclusive.", limit("0.103M"), limit("13.1M"), lag("0.103M"), lag("3.28M"), size.Predictions[0].Measured.Text(stability.FactorText), size.Predictions[0].Ratio.Text(false)))
	end := func(study, stressor, method string, rate float64) string { // after ten times as many updates
		return fmt.Sprintf("%.2f", stats.Average(m.Study(study).Arm(stressor+", 10000", method).At(rate).Finals))
	}
	for _, c := range m.Study("horizon-natural").Checks {
		if c.Outcome == "met" {
			t.Errorf("with fp8 rollouts %s helps over 10,000 updates", c.Arm)
		}
	}
	router := func(study, method string) string {
		return end(study, "router-fp4", method, 1.25e-4) + " and " + end(study, "router-fp4", method, 2.5e-4)
	}
	return append(lines, fmt.Sprintf("- **Longer runs** ([10,000 updates](results/published/stability/horizon/README.md)): take a quarter of the largest stable rate. There equal engines end at %s, a lag of 16 at %s, with `opsm-1e-4` at %s, with `topr` at %s, fp8 rollouts at %s; with half of the rate fp8 ends at %s, and [none of four corrections ends significantly higher](results/published/stability/horizon-natural/README.md). "+
		"[With a 4-bit router](results/published/stability/horizon-routing/README.md) `r3` ends at %s with 1.25e-4 and 2.5e-4, `sequence-tis-5` at %s, `r3-gates` at %s, [with a frozen router](results/published/stability/frozen-router/README.md) at %s; without a correction training ends at %s with 1.25e-4, with a bf16 router at %s with 2.5e-4.",
		end("horizon", "equal", "none", 2.5e-4), end("horizon", "lag-16", "none", 1.25e-4), end("horizon", "lag-16", "opsm-1e-4", 1e-3), end("horizon-staleness", "lag-16", "topr", 5e-4), end("horizon", "fp8", "none", 2.5e-4), end("horizon", "fp8", "none", 5e-4),
		router("horizon-routing", "r3"), router("horizon-routing", "sequence-tis-5"), router("horizon-routing", "r3-gates"), router("frozen-router", "r3-gates-frozen"), end("horizon", "router-fp4", "none", 1.25e-4), end("horizon-routing", "router-bf16", "none", 2.5e-4)))
}

// factor is a ratio to two digits, or the end beyond which it lies.
func factor(r stability.Range) string {
	if r.From == r.To {
		return fmt.Sprintf("%.2g", r.From)
	}
	if r.From > 0 {
		return fmt.Sprintf("more than %.2g", r.From)
	}
	return fmt.Sprintf("less than %.2g", r.To)
}

// TestReadmeAnswers: what the README says to do is what the map of stability found.
func TestReadmeAnswers(t *testing.T) {
	for _, line := range readmeAnswers(t) {
		if !strings.Contains(pages(t)["README.md"], line) {
			t.Errorf("the README does not have this line:\n%s", line)
		}
	}
}

// TestReadmeCommands: every command of the README and its pages is one, with flags it has
// and names that exist.
func TestReadmeCommands(t *testing.T) {
	var commands [][]string
	for _, page := range pages(t) {
		commands = append(commands, readmeCommands(page)...)
	}
	named := map[string]bool{}
	for _, args := range commands {
		if len(args) > 0 {
			named[args[0]] = true
		}
		if slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(placeholders, arg) }) {
			continue
		}
		if err := wrong(args); err != nil {
			t.Errorf("simulate %s: %v", strings.Join(args, " "), err)
		}
	}
	for _, command := range commandTable(t).Leaves(true) {
		if name, _, _ := strings.Cut(commandName(command), " "); name != "headline" && !named[name] {
			t.Errorf("no page shows `simulate %s`", name)
		}
	}
	for _, args := range [][]string{{"trian"}, {"train", "--steps", "5"}, {"train", "nothing"}, {"reproduce", "nothing"}, {"--arms", "nothing"}} {
		if wrong(args) == nil {
			t.Errorf("simulate %s passes for a command", strings.Join(args, " "))
		}
	}
}
