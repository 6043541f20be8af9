package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments"
	"driftlab/experiments/measure"
	"driftlab/experiments/measure/tables"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

type headlineCmd struct {
	Arms  []string `help:"Run only these arms; names below." placeholder:"NAME" complete:"arms"`
	Seeds number   `help:"Number of consecutive seeds, from --seed or 1." default:"3" min:"1" max:"100000" placeholder:"N"`
	common
}

func (*headlineCmd) Help() string {
	return `The main job, which runs without a command. It measures the training-inference mismatch at equal weights, makes runs
degrade or collapse by stale rollouts and by a low-precision router, and compares corrections over the same seeds. It
takes about two minutes. The table shows the published result of ten seeds next to that of these runs.

Examples:
  simulate
  simulate --seeds 5 --out runs/five
  simulate --json -q
  simulate --set steps=40 --seeds 1              # a quick look
  simulate --arms equal,lag16,lag16-opsm         # three of the arms

The arms:
` + armList()
}

// armList is a line for each arm.
func armList() string {
	var b strings.Builder
	for _, arm := range experiments.HeadlineArms() {
		fmt.Fprintf(&b, "  %-20s %s\n", arm.Name, arm.Title)
	}
	return b.String()
}

// headlined is the document of simulate --json.
type headlined struct {
	Dir      string                   `json:"dir"`
	Report   string                   `json:"report"`
	Picture  string                   `json:"picture"`
	Gap      *measure.Measurement     `json:"gap"`
	Outcomes []experiments.ArmOutcome `json:"outcomes"`
}

// Run shows the headline.
func (c *headlineCmd) Run(a *app) error {
	base, err := c.load("headline")
	if err != nil {
		return err
	}
	seeds, err := seedsFrom(base.Seed, int(c.Seeds))
	if err != nil {
		return err
	}
	arms, err := experiments.ChooseArms(c.Arms)
	if err != nil {
		return badInput{fmt.Errorf("--arms: %w", err)}
	}
	dir := c.Out
	if dir == "" {
		dir = filepath.Join("runs", "headline-"+headlineHash(base, arms, int(c.Seeds)))
	}
	if err := ownPage(dir, "simulate"); err != nil {
		return err
	}
	recipes, err := experiments.HeadlineRecipes(arms, c.Set)
	if err != nil {
		return err
	}
	lock, err := a.hold(dir, "headline.png", "headline.svg", "headline.md", "headline.json", "gap.json", "curves.csv")
	if err != nil {
		return err
	}
	defer lock.Release()
	a.warnNoEffect(c.Quiet, c.choosesLoss(), "", recipe.NoEffects(recipes...))
	if !c.Quiet {
		fmt.Fprintf(a.stderr, "simulate: measuring the mismatch at equal weights, then %s x %s x %s, in %s\n", figure.Count(len(arms), "arm"), figure.Count(len(seeds), "seed"), figure.Count(base.Steps, "step"), dir)
	}
	m := a.meter(c.Quiet, "headline", "step", 0)
	end := a.signals.begin()
	result, err := experiments.Headline(a.ctx, experiments.HeadlineOptions{
		Options: experiments.Options{Dir: dir, Workers: c.workers(), Progress: m.queue()},
		Arms:    c.Arms,
		Seeds:   seeds,
		Set:     c.Set,
		Measured: func(gap *measure.Measurement) {
			if !c.JSON {
				a.printTable(tables.GapTable(gap))
				a.printTable(tables.RouteTable(gap))
			}
		},
	})
	m.close()
	if stopped := end(); err == nil {
		err = stopped
	}
	if err != nil {
		return resumable(err, dir)
	}
	doc := headlined{
		Dir: dir, Report: filepath.Join(dir, "report.html"), Picture: filepath.Join(dir, "headline.png"),
		Gap: result.Gap, Outcomes: result.Outcomes(),
	}
	var published []experiments.ArmOutcome
	if len(c.Set) == 0 { // the same runs, with more seeds
		if published, err = experiments.PublishedHeadline(); err != nil {
			return err
		}
	}
	if err := results.WriteReport(doc.Report, result.Report(published, glossary(slices.Concat(result.Runs...)))); err != nil {
		return err
	}
	for _, path := range []string{doc.Picture, filepath.Join(dir, "headline.svg")} {
		if err := results.SavePlot(path, result.Picture()); err != nil {
			return err
		}
	}
	if err := doc.write(result); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(doc)
	}
	a.printTable(result.OutcomeTable(published))
	fmt.Fprintf(a.stdout, "Report: %s\nPlot: %s\n", doc.Report, doc.Picture)
	fmt.Fprintf(a.stdout, "Finding: %s\nNext: %s\n", result.Finding(), c.next(result, dir))
	return nil
}

// next is the command that tells more than this one did: the same with more seeds, or
// more methods under more stressors.
func (c *headlineCmd) next(result *experiments.HeadlineResult, dir string) string {
	if result.NextSeeds() == 0 {
		return "simulate sweep quick --out " + record.ShellWord(filepath.Join("runs", "table", "quick")) + "    # twenty methods under these stressors and more"
	}
	words := fmt.Sprintf("simulate --seeds %d", result.NextSeeds())
	if len(c.Arms) > 0 {
		words += " --arms " + record.ShellWord(strings.Join(c.Arms, ","))
	}
	for _, set := range c.sets() {
		words += " --set " + record.ShellWord(set)
	}
	return words + " --out " + record.ShellWord(dir) + "    # adds the missing seeds to these runs"
}

// write puts the tables and the figures next to the plot.
func (d *headlined) write(result *experiments.HeadlineResult) error {
	outcomes, err := record.Document(d.Outcomes)
	if err != nil {
		return err
	}
	gap, err := record.Document(d.Gap)
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{"headline.md", []byte(result.Markdown())}, {"headline.json", outcomes}, {"gap.json", gap}, {"curves.csv", result.Curves()}} {
		if err := record.WriteFile(d.Dir, f.name, f.text); err != nil {
			return err
		}
	}
	return nil
}

// headlineHash names a headline by its recipe, its arms and its seeds.
func headlineHash(base recipe.Recipe, arms []experiments.HeadlineArm, seeds int) string {
	h := sha256.New()
	h.Write(base.YAML())
	for _, arm := range arms {
		fmt.Fprintln(h, arm.Name, strings.Join(arm.Set, " "))
	}
	fmt.Fprintln(h, seeds)
	return hex.EncodeToString(h.Sum(nil)[:4])
}
