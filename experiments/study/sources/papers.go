package sources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"driftlab/experiments/study/claims"
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
	"driftlab/results/published"
	"driftlab/results/stability"
	"driftlab/results/stats"
	"driftlab/trainer/recipe"
)

// Paper is what the program has of a paper.
type Paper struct {
	// ID is its arXiv id.
	ID string `json:"paper"`
	// Methods are those whose source it is, Recipes those whose page cites it.
	Methods []string `json:"methods"`
	Recipes []string `json:"recipes"`
	// Claims are the ids of its claims, with their published verdicts.
	Claims []paperClaim `json:"claims"`
}

// ArXiv matches an arXiv id.
var ArXiv = regexp.MustCompile(`\b\d{4}\.\d{5}\b`)

// paperClaim is a claim with its published verdict.
type paperClaim struct {
	ID      string `json:"id"`
	Verdict string `json:"verdict"`
}

// Papers are those that methods, shipped recipes and claims cite, in the order of their ids.
func Papers() []Paper {
	var list []Paper
	of := func(source string, add func(p *Paper)) {
		ids := ArXiv.FindAllString(source, -1)
		slices.Sort(ids)
		for _, id := range slices.Compact(ids) {
			at, found := slices.BinarySearchFunc(list, id, func(p Paper, id string) int { return strings.Compare(p.ID, id) })
			if !found {
				list = slices.Insert(list, at, Paper{ID: id, Methods: []string{}, Recipes: []string{}, Claims: []paperClaim{}})
			}
			add(&list[at])
		}
	}
	for _, m := range recipe.Methods() {
		of(m.Source, func(p *Paper) {
			if !slices.Contains(p.Methods, m.Name) {
				p.Methods = append(p.Methods, m.Name)
			}
		})
	}
	for _, name := range recipe.Names() {
		of(recipe.Page(name), func(p *Paper) { p.Recipes = append(p.Recipes, name) })
	}
	for _, c := range claims.All() {
		of(c.Source, func(p *Paper) { p.Claims = append(p.Claims, paperClaim{c.ID, Verdict(c)}) })
	}
	return list
}

// PapersTable is the list as a table.
func PapersTable(list []Paper) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: "Papers", Columns: []figure.Column{{Name: "arXiv"}, {Name: "methods"}, {Name: "recipes"}, {Name: "claims"}},
		Note: "simulate methods NAME explains a method or a recipe and says what is a reconstruction; simulate reproduce NAME measures a claim."}
	for _, p := range list {
		verdicts := stats.Map(p.Claims, func(c paperClaim) string { return c.ID + ": " + c.Verdict })
		t.Add(figure.Word(p.ID).As(figure.Strong), figure.Word(strings.Join(p.Methods, ", ")), figure.Word(strings.Join(p.Recipes, ", ")), figure.Word(strings.Join(verdicts, ", ")))
	}
	return t
}

// Verdict is the published one of a claim, in the words of its page: that over a ladder of learning rates where there is one; undecided
// where new seeds do not repeat it, or single learning rates.
func Verdict(c claim.Claim) string {
	ours, ok := published.Claims()[c.ID]
	if !ok {
		return "not published"
	}
	if l := Answering(OverLadder(c)); l != nil {
		return string(l.Verdict)
	}
	var of struct{ Confirmed judge.Verdict }
	if err := json.Unmarshal(ours.Verdict, &of); err != nil {
		panic(c.ID + "/verdict.json: " + err.Error()) // tests read them
	}
	return string(of.Confirmed)
}

// Laddered is what a study over a ladder of learning rates says of a claim.
type Laddered struct {
	claim.Ladder
	// Verdict is the verdict of the check for all of its arms, empty where it answers a part of the claim or is not published yet.
	Verdict judge.Verdict `json:"verdict,omitempty"`
	// Found is what the check came to, with its effect, and Effect the effect alone, of each arm.
	Found  string `json:"found"`
	Effect string `json:"effect"`
}

// Answering is the one that answers its claim as a whole; nil where none does.
func Answering(list []Laddered) *Laddered {
	i := slices.IndexFunc(list, func(l Laddered) bool { return l.Verdict != "" })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// OverLadder is what the published map says of a claim over ladders of learning rates.
func OverLadder(c claim.Claim) (list []Laddered) {
	for _, l := range c.Ladder {
		list = append(list, laddered(l, stability.Published().Study(l.Study)))
	}
	return list
}

// laddered is what a study says; nil is one that is not published.
func laddered(of claim.Ladder, s *stability.Study) Laddered {
	l, found, effects := Laddered{Ladder: of}, []string(nil), []string(nil)
	for _, k := range cmp.Or(s, new(stability.Study)).Checks {
		if k.Name != l.Check || l.Arm != "" && k.Arm != l.Arm {
			continue
		}
		found, effects = append(found, fmt.Sprintf("%s: %s against %s, %s; criterion: %s", k.Outcome, k.Arm, k.Over, k.Value, k.Needs)), append(effects, k.Value)
		own, marks := judge.Undecided, []judge.Mark{judge.Passed, judge.Failed, judge.Contrary}
		if _, _, another := strings.Cut(k.HeldOut, ", "); another { // the outcome is one of the models that chose the rates
			found[len(found)-1] += "; with held-out rates " + k.HeldOut
		} else if i := slices.IndexFunc(marks, func(m judge.Mark) bool { return m.Term() == k.Outcome }); i >= 0 {
			own = judge.Decide([]judge.Check{{Primary: true, Level: judge.Natural, Outcome: marks[i]}})
		}
		if l.Part == "" {
			l.Verdict = own.Confirmed(l.Verdict) // of all arms, or undecided
		}
	}
	l.Found, l.Effect = cmp.Or(strings.Join(found, ". "), "declared, not published yet"), strings.Join(effects, "; ")
	return l
}
