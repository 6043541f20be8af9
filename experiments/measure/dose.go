package measure

import (
	"context"
	"fmt"
	"math"
	"slices"

	"driftlab/engine/rollout"
	"driftlab/model"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/metrics"
	"driftlab/trainer/recipe"
)

// DoseRequest asks for the dose-response of every mechanism.
type DoseRequest struct {
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

// DoseGap is the gap at one dose of a mechanism.
type DoseGap struct {
	// Dose is its strength in words.
	Dose string `json:"dose"`
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
func (g *DoseGap) Zero() bool {
	return g.Unequal == 0 && g.K3 == 0 && g.MeanAbsDlogp == 0 && g.FlipToken == 0
}

// Cure is what a mechanism's cure leaves of the gap at the largest dose.
type Cure struct {
	// Name says what the cure is.
	Name string `json:"name"`
	DoseGap
	// Left is the share of the largest dose's k3 that remains.
	Left float64 `json:"left"`
}

// DoseResponse is one mechanism, alone, at several doses.
type DoseResponse struct {
	// Mechanism is its name, and About says what the doses are.
	Mechanism string `json:"mechanism"`
	About     string `json:"about"`
	// Ordered says that the doses have an order, so that the gap must grow. The
	// doses of the others are different settings without one: orders of a sum.
	Ordered bool `json:"ordered"`
	// Doses begin with dose zero.
	Doses []DoseGap `json:"doses"`
	// Cure is nil where there is none but not to take the dose.
	Cure *Cure `json:"cure,omitempty"`
}

// DoseTable is every mechanism by which the engines can be made to disagree.
type DoseTable struct {
	// Checkpoint, Task and Seed say what was sampled.
	Checkpoint string `json:"checkpoint"`
	Task       string `json:"task"`
	Seed       uint64 `json:"seed"`
	// Mechanisms are in the order of the table.
	Mechanisms []DoseResponse `json:"mechanisms"`
}

// Mechanisms lists the names of the dose table.
func Mechanisms() []string {
	var names []string
	for _, row := range doseTable {
		names = append(names, row.name)
	}
	return names
}

// Doses turns up each mechanism by itself, all else equal, and measures the gap
// at equal weights. That dose zero gives the same bits in both engines is
// checked; the error says where it does not.
func Doses(ctx context.Context, q DoseRequest) (*DoseTable, error) {
	rows, err := doseRows(q.Only)
	if err != nil {
		return nil, err
	}
	r, p, err := trainer.Prepare(neutral(q.Recipe))
	if err != nil {
		return nil, err
	}
	_, requests := measureRequests(r, r.Task.New())
	t := &DoseTable{Checkpoint: r.Checkpoint, Task: r.Task.Name, Seed: r.Seed}
	for i, row := range rows {
		if r.Model.Dense() && row.routed {
			continue
		}
		response, err := row.measure(ctx, r, p, requests, max(q.Workers, 1))
		if err != nil {
			return nil, fmt.Errorf("mechanism %s: %w", row.name, err)
		}
		t.Mechanisms = append(t.Mechanisms, *response)
		if q.Progress != nil {
			q.Progress(i+1, len(rows))
		}
	}
	return t, nil
}

// doseRows returns the rows of those names, all for none.
func doseRows(only []string) ([]doseRow, error) {
	if len(only) == 0 {
		return doseTable, nil
	}
	var rows []doseRow
	for _, name := range only {
		i := slices.IndexFunc(doseTable, func(row doseRow) bool { return row.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown mechanism: %w", method.UnknownName(name, Mechanisms()))
		}
		rows = append(rows, doseTable[i])
	}
	return rows, nil
}

// doseGroup is the largest number of responses per prompt: there are more than a
// hundred measurements to make.
const doseGroup = 4

// neutral keeps of a recipe what says where to measure, and takes the default
// of everything by which engines could differ.
func neutral(r recipe.Recipe) recipe.Recipe {
	d := recipe.Default()
	d.Name, d.Seed, d.Checkpoint, d.Model, d.Task = r.Name, r.Seed, r.Checkpoint, r.Model, r.Task
	d.Rollout.MaxTokens, d.Rollout.Prompts, d.Rollout.Group = r.Rollout.MaxTokens, r.Rollout.Prompts, min(r.Rollout.Group, doseGroup)
	return d
}

// measure gives every dose of a row, and its cure at the largest.
func (row *doseRow) measure(ctx context.Context, r recipe.Recipe, p *model.Params, requests []rollout.Request, workers int) (*DoseResponse, error) {
	out := &DoseResponse{Mechanism: row.name, About: row.about, Ordered: row.ordered}
	gap := func(d dose) (DoseGap, error) {
		if err := ctx.Err(); err != nil {
			return DoseGap{}, err
		}
		return measureDose(r, p, d, requests, workers)
	}
	for _, d := range row.doses {
		g, err := gap(d)
		if err != nil {
			return nil, err
		}
		out.Doses = append(out.Doses, g)
	}
	if zero := &out.Doses[0]; !zero.Zero() {
		return nil, fmt.Errorf("dose zero (%s) leaves a gap: mean |dlogp| %g, %g of the tokens unequal", zero.Dose, zero.MeanAbsDlogp, zero.Unequal)
	}
	if row.cure == nil {
		return out, nil
	}
	last := row.doses[len(row.doses)-1]
	g, err := gap(dose{last.text, append(last.sets[:len(last.sets):len(last.sets)], row.cure.sets...)})
	if err != nil {
		return nil, fmt.Errorf("cure: %w", err)
	}
	out.Cure = &Cure{Name: row.cure.name, DoseGap: g, Left: g.K3 / out.Doses[len(out.Doses)-1].K3}
	if math.IsNaN(out.Cure.Left) {
		out.Cure.Left = 0
	}
	return out, nil
}

// measureDose measures the recipe with a dose.
func measureDose(r recipe.Recipe, p *model.Params, d dose, requests []rollout.Request, workers int) (DoseGap, error) {
	if err := r.Set(d.sets...); err != nil {
		return DoseGap{}, err
	}
	w, err := trainer.BeforeCalibration(r, p, workers)
	if err != nil {
		return DoseGap{}, err
	}
	probe := Probe{Recipe: r, Weights: w, Requests: requests, Workers: workers}
	pair, _, err := probe.gap(r.Learner.Numerics)
	if err != nil {
		return DoseGap{}, err
	}
	gap := &pair.Gap
	if r.Routing.FromRollout() {
		gap = pair.Replayed
		if r.Routing.Gates == recipe.GatesRecorded {
			gap = pair.ReplayedGates
		}
	}
	return doseGap(d, gap), nil
}

func doseGap(d dose, g *metrics.Gap) DoseGap {
	return DoseGap{Dose: d.text, Set: d.sets, Tokens: g.Tokens,
		K3: g.K3, MeanAbsDlogp: g.MeanAbsDlogp, FlipToken: g.FlipToken, Unequal: g.Unequal}
}
