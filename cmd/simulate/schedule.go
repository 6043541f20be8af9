package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"driftlab/experiments/measure/tables"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

type scheduleCmd struct {
	Name    string   `arg:"" complete:"systems" optional:"" help:"A system's name or alias; without one, all are listed."`
	Set     []string `arg:"" name:"parameter" optional:"" help:"Parameters as key=value: of the system, of the cluster as cluster.KEY, of the costs as costs.KEY."`
	List    bool     `overrides:"<parameter> --gpus --lengths --steps --seed --out" help:"List the systems with their parameters; with a name, show the page of that system."`
	GPUs    number   `name:"gpus" needs:"<name>" help:"Devices." default:"64" min:"2" max:"16384" placeholder:"N"`
	Lengths string   `needs:"<name>" help:"Distribution of response lengths: reasoning, mild, agentic or fixed." default:"reasoning" placeholder:"NAME" complete:"lengths"`
	Steps   number   `needs:"<name>" help:"Updates." default:"20" min:"1" max:"100000" placeholder:"N"`
	Seed    seed     `needs:"<name>" help:"Seed of the random response lengths." default:"1" placeholder:"N"`
	jsonFlag
	outFlag
}

// Run simulates the system.
func (c *scheduleCmd) Run(a *app) error {
	if c.Name == "" {
		return c.list(a, schedule.Systems)
	}
	entry, err := schedule.Systems.Lookup(c.Name)
	if err != nil {
		return bad("schedule: %v", err)
	}
	if c.List {
		return c.list(a, method.Table[schedule.Policy]{entry})
	}
	law, err := simulation.LookupLaw(c.Lengths)
	if err != nil {
		return bad("--lengths: %v", err)
	}
	policy, cluster := entry.New(), simulation.DefaultCluster(int(c.GPUs))
	cluster.Steps = int(c.Steps)
	for _, assignment := range c.Set {
		if err := simulation.Assign(policy, &cluster, assignment); err != nil {
			key, value, _ := strings.Cut(assignment, "=")
			if flagNamed(childNamed(a.parser.Model.Node, "schedule"), "--"+key) != nil {
				return bad("schedule %s: %s is a flag: say --%[2]s %s", entry.Name, key, value)
			}
			return bad("schedule %s: %v", entry.Name, err)
		}
	}
	report, err := simulation.Compare(cluster, entry.Name, policy, law, uint64(c.Seed))
	if err != nil {
		return bad("schedule %s: %v", entry.Name, err)
	}
	picture := filepath.Join(c.Out, "timeline.svg")
	if c.Out != "" {
		if err := cmp.Or(writeDocument(c.Out, "schedule.json", report), results.SavePlot(picture, tables.ScheduleTimeline(report))); err != nil {
			return err
		}
	}
	err = a.show(c.JSON, report, tables.ScheduleTables(report)...)
	if err == nil && c.Out != "" && !c.JSON {
		fmt.Fprintf(a.stdout, "Timeline: %s\n", picture)
	}
	return err
}

// listed is one system as --list --json prints it.
type listed struct {
	method.Spec
	Parameters []string `json:"parameters"`
	Bound      int      `json:"bound"`
}

// list prints systems with their parameters: a table, or the page of a single one.
func (c *scheduleCmd) list(a *app, systems method.Table[schedule.Policy]) error {
	all := []listed{}
	for _, e := range systems {
		policy := e.New()
		all = append(all, listed{e.Spec, stats.Map(simulation.Parameters(policy), simulation.Parameter.String), policy.Traits().Bound})
	}
	if c.JSON {
		return a.printJSON(all)
	}
	if c.Name != "" {
		fmt.Fprint(a.stdout, textOf("system", all[0]))
		return nil
	}
	t := tableHead("systems")
	for _, l := range all {
		t.Add(figure.Word(l.Name).As(figure.Strong), figure.Word(strings.Join(l.Parameters, " ")), figure.Word(boundText(l.Bound)), figure.Word(l.Source).As(figure.Muted))
	}
	a.printTable(t)
	return nil
}
