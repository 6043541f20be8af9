package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
	"driftlab/results/stats/passk"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
)

type evaluateCmd struct {
	What    []string `arg:"" complete:"recipes" help:"Folders of finished runs, or recipes: the weights that these start from."`
	Prompts number   `help:"Held-out prompts, the same for all weights with the same task." default:"64" min:"1" max:"65536" placeholder:"N"`
	Samples number   `help:"Responses to each prompt." default:"32" min:"1" max:"65536" placeholder:"N"`
	Most    number   `help:"Sample each prompt until two responses are correct, at most N responses; 0 switches this off." default:"0" max:"1048576" placeholder:"N"`
	K       []number `name:"k" help:"Values of k to show." default:"1,4,16,64,256" placeholder:"K,..."`
	jsonFlag
	recipeFlags
	workFlags
}

// evaluated is one set of weights in the document of evaluate --json.
type evaluated struct {
	Name      string   `json:"name"`
	Prompts   int      `json:"prompts"`
	Responses int      `json:"responses"`
	Alpha     float64  `json:"alpha"`
	Beta      float64  `json:"beta"`
	PassAt    []passAt `json:"pass_at"`
	// Counts has the correct and all responses of each prompt.
	Counts [][2]int `json:"counts"`
}

// passAt is pass@k of one set of weights; Low and High are the ends of a fitted
// one's interval, Rank is 1 for the best.
type passAt struct {
	K      int      `json:"k"`
	Value  float64  `json:"value"`
	Fitted bool     `json:"fitted"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Rank   int      `json:"rank"`
}

// untilCorrect is when dynamic N leaves a prompt.
const untilCorrect = 2

// Run evaluates and ranks.
func (c *evaluateCmd) Run(a *app) error {
	if slices.Min(c.K) < 1 {
		return bad("--k: %d: give numbers of attempts from 1", slices.Min(c.K))
	}
	if c.Most > 0 && c.Most <= c.Samples {
		return bad("--most: %d: must exceed --samples %d", c.Most, c.Samples)
	}
	var recipes []recipe.Recipe
	for _, what := range c.What {
		r, err := c.weights(what)
		if err != nil {
			return err
		}
		recipes = append(recipes, r)
	}
	attempts := trainer.Attempts{Prompts: int(c.Prompts), Samples: int(c.Samples), Most: int(c.Most), Until: untilCorrect}
	m := a.meter(c.Quiet, "evaluate", "model", len(recipes))
	var all []evaluated
	for i, r := range recipes {
		ck, err := model.Open(r.Checkpoint)
		if err != nil {
			return err
		}
		e, err := trainer.Evaluate(a.ctx, ck.Params, r, attempts, trainer.Options{Workers: c.workers()})
		if err != nil {
			m.close()
			return interrupted{"an interrupted evaluation cannot be resumed; run the same command again"}
		}
		all = append(all, c.passAtK(c.What[i], e))
		m.add(1, 0, c.What[i])
	}
	m.close()
	rank(all)
	return a.show(c.JSON, all, c.table(all))
}

// weights reads what one argument names, as a recipe whose checkpoint they are.
func (c *evaluateCmd) weights(what string) (recipe.Recipe, error) {
	f := c.recipeFlags
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		if err := folderToEvaluate(what); err != nil {
			return recipe.Recipe{}, err
		}
		f.Set = append([]string{"checkpoint=" + strconv.Quote(filepath.Join(what, record.CheckpointFolder))}, f.Set...)
		what = filepath.Join(what, record.RecipeFile)
	}
	r, err := f.load(what)
	if err == nil && r.Checkpoint == "" {
		err = bad("%s: the recipe starts from random weights: name trained weights with --set checkpoint=...", what)
	}
	return r, err
}

// passAtK sums an evaluation up.
func (c *evaluateCmd) passAtK(name string, e trainer.Evaluation) evaluated {
	out := evaluated{Name: name, Prompts: len(e.Prompts)}
	for _, p := range e.Prompts {
		out.Counts = append(out.Counts, [2]int{p.Correct, p.Samples})
		out.Responses += p.Samples
	}
	tallies := stats.Map(e.Prompts, func(p trainer.PromptTally) passk.Tally { return p.Tally })
	fit := passk.Fit(tallies)
	out.Alpha, out.Beta = fit.Alpha, fit.Beta
	for _, k := range c.K {
		p := passAt{K: int(k), Fitted: k > c.Samples}
		if p.Fitted {
			p.Value = fit.PassAt(p.K)
			if low, high := fit.Interval(p.K); !math.IsNaN(low) {
				p.Low, p.High = &low, &high
			}
		} else {
			p.Value = passk.Mean(tallies, p.K)
		}
		out.PassAt = append(out.PassAt, p)
	}
	return out
}

// rank numbers the weights by each pass@k, equal ones alike.
func rank(all []evaluated) {
	for i := range all {
		for j := range all[i].PassAt {
			p := &all[i].PassAt[j]
			p.Rank = 1
			for _, other := range all {
				if other.PassAt[j].Value > p.Value {
					p.Rank++
				}
			}
		}
	}
}

// table has a row for each set of weights and a column for each k.
func (c *evaluateCmd) table(all []evaluated) *figure.Figure {
	t := tableHead("evaluated")
	t.Note = fmt.Sprintf(t.Note, c.Prompts, c.Samples)
	for _, k := range c.K {
		t.Columns = append(t.Columns, figure.Column{Name: fmt.Sprintf("pass@%d", k), Align: figure.Right})
	}
	for _, e := range all {
		row := []figure.Cell{figure.Word(e.Name), figure.Word(strconv.Itoa(e.Responses))}
		for _, p := range e.PassAt {
			text := figure.FormatNumber(p.Value, 3)
			if p.Low != nil {
				text += fmt.Sprintf(" [%s, %s]", figure.FormatNumber(*p.Low, 3), figure.FormatNumber(*p.High, 3))
			}
			cell := figure.Word(text)
			if p.Rank == 1 && len(all) > 1 {
				cell = cell.As(figure.Strong)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}
