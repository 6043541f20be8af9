package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/results"
	"driftlab/trainer/schedule"
	"driftlab/trainer/simulation"
)

type scheduleCmd struct {
	Name    string   `arg:"" complete:"systems" optional:"" help:"A system's name or alias; without one, all are listed."`
	Set     []string `arg:"" name:"parameter" optional:"" help:"Parameters as key=value: of the system, of the cluster as cluster.KEY, of the costs as costs.KEY."`
	List    bool     `help:"List the systems with their parameters."`
	GPUs    number   `name:"gpus" help:"Devices." default:"64" min:"2" max:"16384" placeholder:"N"`
	Lengths string   `help:"Law of response lengths: reasoning, mild, agentic or fixed." default:"reasoning" placeholder:"NAME" complete:"lengths"`
	Steps   number   `help:"Updates." default:"20" min:"1" max:"100000" placeholder:"N"`
	Seed    seed     `help:"Start of the random stream of the lengths." default:"1" placeholder:"N"`
	jsonFlag
	outFlag
}

// Help is the long help text.
func (*scheduleCmd) Help() string {
	return `Runs a published system's schedule on a virtual cluster, without weights: who generates, trains and waits, how old
the trained tokens get, and what "speed-up" comes to under each paper's own definition, against the synchronous loop on
the same devices with the same prompts, lengths and costs. --out draws the timeline.

Costs are ratios out of published tables: the figures show which waits for which, and are no forecast of a cluster.

Examples:
  simulate schedule --list
  simulate schedule areal
  simulate schedule areal eta=8 --gpus 1024 --json
  simulate schedule verl_partial staleness_percent=50 cluster.generate=50 --out look
  simulate schedule one_step_off --lengths fixed costs.decode_slot=0`
}

// Run simulates the system.
func (c *scheduleCmd) Run(a *app) error {
	if c.Name == "" || c.List {
		return c.list(a)
	}
	entry, err := schedule.Systems.Lookup(c.Name)
	if err != nil {
		return bad("schedule: %v", err)
	}
	law, err := simulation.LookupLaw(c.Lengths)
	if err != nil {
		return bad("--lengths: %v", err)
	}
	policy, cluster := entry.New(), simulation.DefaultCluster(int(c.GPUs))
	cluster.Steps = int(c.Steps)
	for _, assignment := range c.Set {
		if err := simulation.Assign(policy, &cluster, assignment); err != nil {
			return bad("schedule %s: %v", entry.Name, err)
		}
	}
	report, err := simulation.Compare(cluster, entry.Name, policy, law, uint64(c.Seed))
	if err != nil {
		return bad("schedule %s: %v", entry.Name, err)
	}
	var picture string
	if c.Out != "" {
		if picture, err = c.write(report); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(report)
	}
	a.printSchedule(report)
	if picture != "" {
		fmt.Fprintf(a.stdout, "Timeline: %s\n", picture)
	}
	return nil
}

// write writes the report and the timeline.
func (c *scheduleCmd) write(r simulation.Report) (picture string, err error) {
	text, err := jsonText(r)
	if err != nil {
		return "", err
	}
	if err := writeFile(c.Out, "schedule.json", text); err != nil {
		return "", err
	}
	picture = filepath.Join(c.Out, "timeline.svg")
	return picture, results.SavePlot(picture, timelineOf(r))
}

// listed is one system as --list --json prints it.
type listed struct {
	Name       string   `json:"name"`
	Aliases    []string `json:"aliases"`
	Source     string   `json:"source"`
	Formula    string   `json:"formula"`
	Parameters []string `json:"parameters"`
	Bound      int      `json:"bound"`
	Inferred   string   `json:"inferred"`
}

// list prints all systems, or the one that is named, with its parameters.
func (c *scheduleCmd) list(a *app) error {
	var all []listed
	for _, e := range schedule.Systems {
		l := listed{Name: e.Name, Aliases: e.Aliases, Source: e.Source, Formula: e.Formula, Parameters: []string{}, Inferred: e.Reconstruction}
		policy := e.New()
		l.Bound = policy.Bound()
		for _, p := range simulation.Parameters(policy) {
			l.Parameters = append(l.Parameters, p.String())
		}
		all = append(all, l)
	}
	if c.JSON {
		return a.printJSON(all)
	}
	t := &results.Table{Title: "Systems", Columns: []results.TableColumn{
		{Name: "name"}, {Name: "parameters"}, {Name: "bound", Align: results.Right}, {Name: "source"},
	}, Note: "bound: the greatest lag of a trained sample, in versions; none where a system promises no more than a count."}
	for _, l := range all {
		bound := "none"
		if l.Bound >= 0 {
			bound = fmt.Sprint(l.Bound)
		}
		t.Add(results.Word(l.Name).As(results.Strong), results.Word(strings.Join(l.Parameters, " ")), results.Word(bound), results.Word(l.Source).As(results.Muted))
	}
	a.printTable(t)
	return nil
}
