package measure

import (
	"cmp"
	"context"
	_ "embed" // of the levels
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/results/stats"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/recipe"

	"go.yaml.in/yaml/v4"
)

// LevelRequest asks for the response by level of every mechanism.
type LevelRequest struct {
	// Recipe gives checkpoint, task, the size of the sample (of a group, four
	// responses at most), and the seed. All else is at its default, so that a
	// mechanism acts alone.
	Recipe recipe.Recipe
	// Only lists the mechanisms to measure, by name; none means all.
	Only []string
	// Workers is the number of cores; 0 means one.
	Workers int
	// Progress is called after each mechanism.
	Progress func(done, mechanisms int)
}

// LevelGap is the gap at one level of a mechanism.
type LevelGap struct {
	// Level is its strength in words.
	Level string `json:"dose"`
	// Set are the fields of the recipe that make it.
	Set []string `json:"set"`
	// Tokens is how many were compared.
	Tokens int `json:"tokens"`
	// K3 and MeanAbsDlogp are the size of the gap, nats; Unequal is the share of
	// tokens whose log-probs differ in any bit, FlipToken of those with other
	// experts.
	K3           float64 `json:"k3"`
	MeanAbsDlogp float64 `json:"mean_abs_dlogp"`
	FlipToken    float64 `json:"flip_token"`
	Unequal      float64 `json:"unequal"`
}

// Zero reports that both engines gave the same bits on the same routes.
func (g *LevelGap) Zero() bool {
	return g.Unequal == 0 && g.K3 == 0 && g.MeanAbsDlogp == 0 && g.FlipToken == 0
}

// Correction is what a mechanism's correction leaves of the gap at the highest level.
type Correction struct {
	// Name says what the correction is.
	Name string `json:"name"`
	LevelGap
	// Left is the share of the highest level's k3 that remains.
	Left float64 `json:"left"`
}

// LevelResponse is one mechanism, alone, at several levels.
type LevelResponse struct {
	// Mechanism is its name, and About says what the levels are.
	Mechanism string `json:"mechanism"`
	About     string `json:"about"`
	// Ordered says that the levels have an order, so that the gap must grow. The
	// levels of the others are different settings without one: orders of a sum.
	Ordered bool `json:"ordered"`
	// Levels begin with level zero.
	Levels []LevelGap `json:"doses"`
	// Correction is nil where there is none but not to take the level.
	Correction *Correction `json:"cure,omitempty"`
}

// LevelTable is every mechanism by which the engines can be made to disagree.
type LevelTable struct {
	// Checkpoint, Task and Seed say what was sampled.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	// Mechanisms are in the order of the table.
	Mechanisms []LevelResponse `json:"mechanisms"`
}

// Mechanisms lists the names of the level table.
func Mechanisms() []string {
	return stats.Map(levelTable(), func(row levelRow) string { return row.Name })
}

// Levels turns up each mechanism by itself, all else equal, and measures the gap
// at equal weights. That level zero gives the same bits in both engines is
// checked; the error says where it does not.
func Levels(ctx context.Context, q LevelRequest) (*LevelTable, error) {
	rows, err := levelRows(q.Only)
	if err != nil {
		return nil, err
	}
	r, p, err := trainer.Prepare(neutral(q.Recipe))
	if err != nil {
		return nil, err
	}
	_, requests := measureRequests(r)
	t := &LevelTable{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed}
	for i, row := range rows {
		if r.Model.Dense() && row.Routed {
			continue
		}
		r, p := r, p
		if row.Layer != "" && !r.Model.HasLayer(row.Layer) {
			if r, p, err = row.prepare(r); err != nil {
				return nil, fmt.Errorf("mechanism %s: %w", row.Name, err)
			}
		}
		response, err := row.measure(ctx, r, p, requests, max(q.Workers, 1))
		if err != nil {
			return nil, fmt.Errorf("mechanism %s: %w", row.Name, err)
		}
		t.Mechanisms = append(t.Mechanisms, *response)
		if q.Progress != nil {
			q.Progress(i+1, len(rows))
		}
	}
	return t, nil
}

// prepare gives a row its own model, with random weights, where the recipe's has no layer on
// which the mechanism acts.
func (row *levelRow) prepare(r recipe.Recipe) (recipe.Recipe, *model.Params, error) {
	c := r.Model
	c.LayerTypes = model.NewLayerTypes(row.Layer, model.FullAttention)
	c.IndexTopK = 8 // of sparse attention: less than a response is long
	if c.WithDefaults().Layers == 1 {
		c.LayerTypes = model.NewLayerTypes(row.Layer)
	}
	r.Checkpoint, r.Model = "", c.WithDefaults()
	return trainer.Prepare(r)
}

// levelRows returns the rows of those names, all for none.
func levelRows(only []string) ([]levelRow, error) {
	if len(only) == 0 {
		return levelTable(), nil
	}
	var rows []levelRow
	for _, name := range only {
		i := slices.IndexFunc(levelTable(), func(row levelRow) bool { return row.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown mechanism: %w", method.UnknownName(name, Mechanisms()))
		}
		rows = append(rows, levelTable()[i])
	}
	return rows, nil
}

// levelGroup is the largest number of responses per prompt: there are more than a
// hundred measurements to make.
const levelGroup = 4

// neutral keeps of a recipe what says where to measure, and takes the default
// of everything by which engines could differ.
func neutral(r recipe.Recipe) recipe.Recipe {
	d := recipe.Default()
	d.Name, d.Seed, d.Checkpoint, d.Model, d.Task = r.Name, r.Seed, r.Checkpoint, r.Model, r.Task
	d.Rollout.MaxTokens, d.Rollout.Prompts, d.Rollout.Group = r.Rollout.MaxTokens, r.Rollout.Prompts, min(r.Rollout.Group, levelGroup)
	return d
}

// measure gives every level of a row, and its correction at the highest.
func (row *levelRow) measure(ctx context.Context, r recipe.Recipe, p *model.Params, requests []rollout.Request, workers int) (*LevelResponse, error) {
	out := &LevelResponse{Mechanism: row.Name, About: row.About, Ordered: row.Ordered}
	for _, d := range row.Levels {
		g, err := measureLevel(ctx, r, p, d, requests, workers)
		if err != nil {
			return nil, err
		}
		out.Levels = append(out.Levels, g)
	}
	if zero := &out.Levels[0]; !zero.Zero() {
		return nil, fmt.Errorf("level zero (%s) leaves a gap: mean |dlogp| %g, %g of the tokens unequal", zero.Level, zero.MeanAbsDlogp, zero.Unequal)
	}
	if row.Correction == nil {
		return out, nil
	}
	last := row.Levels[len(row.Levels)-1]
	g, err := measureLevel(ctx, r, p, level{last.Level, slices.Concat(last.Set, row.Correction.Set)}, requests, workers)
	if err != nil {
		return nil, fmt.Errorf("correction: %w", err)
	}
	out.Correction = &Correction{Name: row.Correction.Name, LevelGap: g, Left: g.K3 / out.Levels[len(out.Levels)-1].K3}
	if math.IsNaN(out.Correction.Left) {
		out.Correction.Left = 0
	}
	return out, nil
}

func measureLevel(ctx context.Context, r recipe.Recipe, p *model.Params, d level, requests []rollout.Request, workers int) (LevelGap, error) {
	if err := cmp.Or(ctx.Err(), r.Set(d.Set...)); err != nil {
		return LevelGap{}, err
	}
	w, err := trainer.BeforeMeasurement(r, p, workers)
	if err != nil {
		return LevelGap{}, err
	}
	probe := Probe{Recipe: r, Weights: w, Requests: requests, Workers: workers}
	pair, _, err := probe.gap(r.Learner.Numerics)
	if err != nil {
		return LevelGap{}, err
	}
	gap := &pair.Gap
	if r.Routing.FromRollout() {
		gap = pair.Replayed
		if r.Routing.Gates == recipe.GatesRecorded {
			gap = pair.ReplayedGates
		}
	}
	return LevelGap{Level: d.Level, Set: d.Set, Tokens: gap.Tokens,
		K3: gap.K3, MeanAbsDlogp: gap.MeanAbsDlogp, FlipToken: gap.FlipToken, Unequal: gap.Unequal}, nil
}

// levelRow is one mechanism of the level table: what to set in a recipe for each level, see levels.yaml.
type levelRow struct {
	Name, About     string
	Ordered, Routed bool
	// Layer is the type of layer that has the mechanism, empty for any. A model without one
	// gives way to another of its size, with random weights.
	Layer       string
	Levels      []level
	Values, Set []string
	Correction  *levelCorrection
}

// level is one strength of a mechanism, in words and as assignments to a recipe.
type level struct {
	Level string
	Set   []string
}

// levelCorrection is what is set on top of the highest level.
type levelCorrection struct {
	Name    string
	Set     []string
	Partial bool
}

//go:embed levels.yaml
var levelText []byte

// levelTable lists the mechanisms.
var levelTable = sync.OnceValue(func() (rows []levelRow) {
	if err := yaml.Load(levelText, &rows, yaml.WithKnownFields()); err != nil {
		panic("levels.yaml: " + err.Error()) // a test reads it
	}
	for i := range rows {
		for _, value := range rows[i].Values {
			one := level{Level: value}
			for _, set := range rows[i].Set {
				one.Set = append(one.Set, strings.ReplaceAll(set, "$", value))
			}
			rows[i].Levels = append(rows[i].Levels, one)
		}
	}
	return rows
})
