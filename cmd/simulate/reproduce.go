package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/claims/reproduce"
	"driftlab/experiments/study/judge"
	"driftlab/experiments/study/sources"
	"driftlab/results"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer/method"
)

type reproduceCmd struct {
	Claims []string `arg:"" optional:"" name:"claim" complete:"claims" help:"Claims to measure."`
	All    bool     `overrides:"<claim>" help:"Measure all claims but those of a study."`
	Seeds  number   `help:"Number of replications, with consecutive seeds: default 10 models or 20 runs, 1 with --quick. A verdict from fewer than 10 is a preview." max:"100000" placeholder:"N"`
	Seed   seed     `name:"seed" aliases:"seed-base" help:"First seed, from 1." default:"1" placeholder:"N"`
	Fresh  bool     `help:"Repeat every measurement with new models and seeds, and show both results."`
	Short  bool     `name:"quick" help:"Smaller measurements: a preview in minutes."`
	List   bool     `overrides:"--check --all --fresh --quick --seeds --seed" help:"List the claims and the progress of each in --out; with arguments, those that they name, or that are about that method, paper or word."`
	Check  bool     `overrides:"<claim> --all --fresh --quick --seeds --seed" help:"Judge the observations in --out again, without measuring: list what this version of the program would change."`
	jsonFlag
	outFlag
	workFlags
}

// reproduced is the document of reproduce --json.
type reproduced struct {
	Dir    string        `json:"dir"`
	Report string        `json:"report"`
	Claims []claimResult `json:"claims"`
}

// claimResult is one claim with its verdict.
type claimResult struct {
	reproduce.Status
	Provisional bool          `json:"provisional"`
	Threshold   string        `json:"threshold"`
	Checks      []judge.Check `json:"checks"`
}

// Run measures the claims, or lists them.
func (c *reproduceCmd) Run(a *app) error {
	out := cmp.Or(c.Out, filepath.Join("runs", "reproduce"))
	if c.List {
		return c.list(a, out)
	}
	if c.Check {
		return c.check(a, out)
	}
	for _, id := range c.Claims {
		of, ok := claims.Lookup(id)
		switch {
		case !ok:
			return unknownClaim(id)
		case of.Study != "" && c.Short:
			return bad("reproduce: %s judges whole runs of a study: `simulate study %s --quick` previews them", id, of.Study)
		}
	}
	if c.Seed < 1 {
		return bad("--seed: the seeds of a claim start at 1")
	}
	o := reproduce.Options{Claims: c.Claims, Seeds: int(c.Seeds), SeedBase: uint64(c.Seed), Fresh: c.Fresh, Dir: out, Workers: c.workers()}
	if c.Short {
		o.Size = claim.Quick
		o.Seeds = max(o.Seeds, 1)
	}
	if all := reproduce.Replications(o); !c.All && len(c.Claims) == 0 {
		return bad("reproduce: name the claims to measure, such as fp16-bf16-gap; `simulate reproduce --list` lists all %d; --all measures them all, in %d replications", len(claims.IDs()), all)
	}
	if err := ownPage(out, "simulate reproduce"); err != nil {
		return err
	}
	lock, err := a.hold(out)
	if err != nil {
		return err
	}
	defer lock.Release()
	m := a.meter(c.Quiet, "reproduce", "seed", 0)
	o.Progress = m.queue()
	end := a.signals.begin()
	list, err := reproduce.Run(a.ctx, o)
	m.close()
	err = cmp.Or(err, end())
	if err != nil {
		return resumable(err, out)
	}
	// The page and the table in the folder are of all that the folder has; what is damaged is
	// left out of them, and named.
	all, damaged := reproduce.Kept(out)
	path := filepath.Join(out, pageFile)
	if err := results.WriteReport(path, reproduce.Report(all)); err != nil {
		return err
	}
	for _, page := range [][2]string{{"verdicts.md", reproduce.Verdicts(all)}, {"conjectures.md", reproduce.Conjectures(all)}} {
		if err := record.WriteFile(filepath.Join(out, "claims"), page[0], []byte(page[1])); err != nil {
			return err
		}
	}
	if c.JSON {
		status := map[string]reproduce.Status{}
		for _, s := range reproduce.List(out) {
			status[s.ID] = s
		}
		doc := reproduced{Dir: out, Report: path}
		for i := range list {
			r := &list[i]
			doc.Claims = append(doc.Claims, claimResult{Status: status[r.Claim.ID], Provisional: r.Provisional(), Threshold: r.Claim.Threshold, Checks: r.Evidence.Checks})
		}
		return errors.Join(a.printJSON(doc), damaged)
	}
	a.printTable(reproduce.VerdictTable(list))
	fmt.Fprintf(a.stdout, "Report: %s\n%s", path, reproduce.Agreement(list))
	return damaged
}

// check lists what this version would change of the verdicts in a folder.
func (c *reproduceCmd) check(a *app, out string) error {
	changes, checked, err := reproduce.Check(out)
	if checked == 0 && err == nil {
		return bad("reproduce --check: %s has no verdicts: choose the folder of a reproduction with --out", out)
	}
	if c.JSON {
		return errors.Join(a.printJSON(struct {
			Release string             `json:"release"`
			Checked int                `json:"checked"`
			Changes []reproduce.Change `json:"changes"`
		}{release, checked, changes}), err)
	}
	t := &figure.Figure{Kind: figure.Table, Title: "Verdicts that change", Columns: []figure.Column{{Name: "id"}, {Name: "kept"}, {Name: "now"}, {Name: "why"}}}
	for _, x := range changes {
		t.Add(figure.Word(x.ID), figure.Word(string(x.Kept)), figure.Word(cmp.Or(string(x.Now), "-")), figure.Word(x.Why))
	}
	if len(changes) > 0 {
		a.printTable(t)
	}
	fmt.Fprintf(a.stdout, "Version %s would change %d of the %d verdict files in %s.\n", release, len(changes), checked, out)
	return err
}

// unknownClaim is the error of a name that no claim has. A method or a paper leads to the claims about it.
func unknownClaim(name string) error {
	if about := claimsAbout(name); len(about) > 0 && method.Nearest(name, claims.IDs()) == "" {
		return bad("reproduce: no claim is called %q; claims about it: %s; `simulate reproduce --list %s` shows them", name, strings.Join(about, ", "), record.ShellWord(name))
	}
	return bad("reproduce: %w; `simulate reproduce --list` lists them", method.UnknownName(name, claims.IDs()))
}

// claimsAbout are the ids of the claims that have a word in their id, title or source, or that cite a paper of the method with that name.
func claimsAbout(word string) []string {
	var papers []string
	if methods, err := findMethods(word); err == nil {
		for _, m := range methods {
			papers = append(papers, sources.ArXiv.FindAllString(m.Source, -1)...)
		}
	}
	word = strings.ToLower(word)
	var ids []string
	for _, c := range claims.All() {
		text := strings.ToLower(c.ID + "\n" + c.Title + "\n" + c.Source)
		if strings.Contains(text, word) || slices.ContainsFunc(papers, func(id string) bool { return strings.Contains(text, id) }) {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// list shows the claims without measuring any: all of them, or those that the arguments name or are about.
func (c *reproduceCmd) list(a *app, out string) error {
	list := reproduce.List(out)
	if len(c.Claims) > 0 {
		var ids []string
		for _, name := range c.Claims {
			about := []string{name}
			if _, ok := claims.Lookup(name); !ok {
				about = claimsAbout(name)
			}
			if len(about) == 0 {
				return unknownClaim(name)
			}
			ids = append(ids, about...)
		}
		list = slices.DeleteFunc(list, func(s reproduce.Status) bool { return !slices.Contains(ids, s.ID) })
	}
	if c.JSON {
		return a.printJSON(list)
	}
	t := &figure.Figure{Kind: figure.Table, Title: "Published claims", Columns: []figure.Column{{Name: "id"}, {Name: "claim"}, {Name: "status"}, {Name: "verdict"}, {Name: "n"}, {Name: "new seeds"}, {Name: "learning rates"}, {Name: "measured"}, {Name: "check declared"}}}
	for i := range list {
		s := &list[i]
		n, fresh, declared := "-", "-", string(s.Declared)
		if s.Verdict != "" && s.OwnCheck() {
			n = s.Sample()
		}
		if s.Fresh != nil && s.OwnCheck() {
			fresh = string(s.Fresh.Verdict)
		}
		if s.First != nil {
			declared += ", first " + string(s.First.Verdict)
		}
		t.Add(figure.Word(s.ID).As(figure.Strong), figure.Word(s.Title), figure.Word(s.Status), figure.Word(s.MarkedVerdict()), figure.Word(n), figure.Word(fresh), figure.Word(s.Judged), figure.Word(s.Measured()), figure.Word(declared))
	}
	a.printTable(t)
	if len(c.Claims) == 0 {
		a.printTable(reproduce.DeclaredTable(list))
	}
	return nil
}
