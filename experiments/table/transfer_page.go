package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"driftlab/results/figure"
	"driftlab/results/stats"
)

// The files of the comparison at tuned learning rates.
const (
	wordsFile        = "tuned.md"
	sheetFile        = "tuned.csv"
	transferFile     = "transfer.md"
	transferDrawFile = "transfer.png"
)

// transferVerdict is the primary check in a word, with its reason.
func transferVerdict(i stats.Interval) string {
	figures := fmt.Sprintf("Spearman's ρ is %.2f (95 %% CI %.2f to %.2f)", i.Estimate, i.Low, i.High)
	switch {
	case i.N == 0:
		return "No verdict: two tasks are needed."
	case i.Low > transferBound:
		return fmt.Sprintf("A ranking of settings **transfers between tasks**: %s, which lies above %.1f.", figures, transferBound)
	case i.High < transferBound:
		return fmt.Sprintf("A ranking of settings **does not transfer between tasks**: %s, which lies below %.1f.", figures, transferBound)
	}
	return fmt.Sprintf("Whether a ranking of settings transfers between tasks is **undecided**: %s, and the declared bound is %.1f.", figures, transferBound)
}

// table lists the rows of the kinds named.
func (x *transfer) table(title, note string, between ...string) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Title: title, Note: note, Columns: []figure.Column{{Name: "between"}, {Name: "and"}, {Name: "within"}, number("ρ"), {Name: "95 % CI"}, number("settings"), number("comparisons")}}
	for _, r := range x.Rows {
		for _, kind := range between {
			if r.Between == kind {
				t.Add(figure.Word(r.A), figure.Word(r.B), figure.Word(r.Within), signed(r.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", r.Low, r.High)), count(r.Settings), count(r.N))
			}
		}
	}
	return t
}

// missingText says what is not there yet.
func (t *Tuned) missingText() string {
	if len(t.Missing) == 0 {
		return ""
	}
	return "Not there yet: " + strings.Join(t.Missing, "; ") + ". `simulate sweep tune`, `simulate sweep transfer` and `simulate sweep scales` go on from the published folders (`results/published/README.md` says how)."
}

// transferPage is the page of transfer as Markdown.
func (t *Tuned) transferPage() []byte {
	x := t.transferred
	var b bytes.Buffer
	b.WriteString("# Does a ranking of corrections transfer?\n\n" +
		"Written from the sweeps `tune`, `transfer` and `scales`. Each setting runs at its own learning rate. Its gain is its mean pass rate of the whole run minus that of no correction at that one's own rate. " +
		"A ranking transfers if the settings have the same order by gain elsewhere, measured by Spearman's rank correlation ρ.\n\n")
	b.WriteString(transferVerdict(t.BetweenTasks) + " This is the primary check, declared in the file of the sweep before any of its runs: mean over the pairs of tasks and over the stressors, the interval over settings and base models.\n\n")
	b.WriteString(t.taskText() + "\n\n")
	if text := t.missingText(); text != "" {
		b.WriteString(text + "\n\n")
	}
	fmt.Fprintf(&b, "![Gain of every setting under each stressor of each task](%s)\n\n", transferDrawFile)
	const interval = "Interval: percentile bootstrap that draws settings and base models with replacement."
	for _, table := range []*figure.Figure{
		x.table("Between tasks, under the same stressor", interval, "tasks"),
		x.table("Between the task and larger scales, under the same stressor", "Gains at the learning rates that were tuned on the task with 100 updates of the small model; the base models differ. "+interval, "scales"),
		x.table("Between halves of the base models of a task", "Mean over all ways to halve the base models. Interval: percentile bootstrap that draws settings with replacement, and a half at random. It bounds what a correlation with another task can be: noise in the gains lowers both.", "halves of the base models"),
		x.table("Between learning rates of the tuning stage", fmt.Sprintf("Gains with the same learning rate for setting and control, mean over the stressors; unit: %d base models. %s", t.TuningModels, interval), "learning rates"),
		x.table("Between the common rate "+commonRate+" and the tuned rates", "Gains with the same learning rate for all on the base models of the tuning stage, against gains at tuned rates on the base models of the stage transfer. "+interval, "common and tuned rate"),
		x.table("Between stressors of a task", interval, "stressors"),
	} {
		if len(table.Rows) > 0 {
			b.WriteString(table.Markdown() + "\n")
		}
	}
	b.WriteString(t.rateTable().Markdown())
	if table := t.scaleTable(); len(table.Rows) > 0 {
		b.WriteString("\n" + table.Markdown())
	}
	return b.Bytes()
}

// taskText says what was compared.
func (t *Tuned) taskText() string {
	var parts []string
	for i := range t.Tasks {
		parts = append(parts, fmt.Sprintf("%s (%d settings)", t.Tasks[i].Name, len(t.Tasks[i].Settings)-1))
	}
	if len(parts) == 0 {
		return "No task is whole."
	}
	return fmt.Sprintf("Tasks: %s; %d base models each, 100 updates, model of two layers of width 32 with eight experts.", strings.Join(parts, ", "), t.Models)
}

// rateTable shows how much of a gain at a common learning rate stays when setting and control have
// their own.
func (t *Tuned) rateTable() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table, Title: "Gain at a common learning rate and at tuned ones",
		Columns: []figure.Column{{Name: "task"}, {Name: "stressor"}, {Name: "setting"}, number("gain at " + commonRate), number("gain at tuned rates"), {Name: "95 % CI"}, {Name: "tuned rate"}, {Name: "rate of no correction"}},
		Note:    fmt.Sprintf("Gain at %s: mean over the %d base models of the tuning stage. Gain at tuned rates: mean over the %d of the stage transfer. The three settings with the largest gain at %s under each stressor.", commonRate, t.TuningModels, t.Models, commonRate)}
	for i := range t.Tasks {
		task := &t.Tasks[i]
		common := gainsAt(t.tuning[task.Name], commonRate)
		for j, p := range task.Problems {
			for _, name := range largestGains(common, p.Name, 3) {
				s := task.setting(name)
				if s == nil || !s.tested(j) {
					continue
				}
				e := &s.Effects[j]
				table.Add(figure.Word(task.Name), figure.Word(p.Name), figure.Word(name), signed(stats.Average(common.by[name][p.Name])), signed(e.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", e.Low, e.High)), figure.Word(e.Rate), figure.Word(p.Rate))
			}
		}
	}
	return table
}

// scaleTable has the gains in longer runs and in a larger model next to those on the task.
func (t *Tuned) scaleTable() *figure.Figure {
	table := &figure.Figure{Kind: figure.Table, Title: "Gains at larger scales",
		Columns: []figure.Column{{Name: "scale"}, {Name: "stressor"}, number("no correction"), {Name: "setting"}, {Name: "rate"}, number("gain"), {Name: "95 % CI"}, number("gain on the task"), {Name: "95 % CI"}},
		Note:    "No correction: its mean pass rate of the whole run at the larger scale. Gain: mean over the base models, at the learning rates tuned on the task; the interval is Student's t over the base models."}
	for i := range t.Scales {
		scale := &t.Scales[i]
		at := slices.IndexFunc(t.Tasks, func(o TunedTask) bool { return o.Name == scale.TunedOn })
		if at < 0 {
			continue // the task itself is not whole
		}
		for j, p := range scale.Problems {
			for k := range scale.Settings {
				s := &scale.Settings[k]
				if !s.tested(j) {
					continue
				}
				e := &s.Effects[j]
				row := []figure.Cell{figure.Word(scale.Name), figure.Word(p.Name), rounded(p.Uncorrected), figure.Word(s.Name), figure.Word(e.Rate), signed(e.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", e.Low, e.High))}
				if own := t.Tasks[at].effect(s.Name, p.Name); own != nil {
					row = append(row, signed(own.Estimate), figure.Word(fmt.Sprintf("%+.2f to %+.2f", own.Low, own.High)))
				}
				table.Add(row...)
			}
		}
	}
	return table
}

// effect is that of a setting under a stressor; nil if there is none.
func (t *TunedTask) effect(setting, stressor string) *TunedEffect {
	j := slices.IndexFunc(t.Problems, func(p TunedProblem) bool { return p.Name == stressor })
	if s := t.setting(setting); s != nil && j >= 0 {
		return &s.Effects[j]
	}
	return nil
}
