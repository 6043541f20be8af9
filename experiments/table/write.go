package table

import (
	"bytes"
	"fmt"
	"slices"

	"driftlab/results"
	"driftlab/results/figure"
)

// The files of the table.
const (
	SheetFile  = "table.csv"
	wordsFile  = "table.md"
	drawnFile  = "table.png"
	alarmsFile = "alarms.json"
)

// File is a file's name and what it holds.
type File struct {
	Name string
	Data []byte
}

// Table is what the stages say together, worked out once for every page that shows it.
type Table struct {
	Stages []Ranking
	Alarms Alarms
	// Tuned compares settings at their own learning rates; nil without a tuning stage.
	Tuned *Tuned
}

// Measure works out the table of the stages.
func Measure(stages []Stage) *Table {
	var tune, judged, scales *Stage
	var rest []Stage
	for i := range stages {
		switch stages[i].Name {
		case tuneStage:
			tune = &stages[i]
		case transferStage:
			judged = &stages[i]
		case scalesStage:
			scales = &stages[i]
		default:
			rest = append(rest, stages[i])
		}
	}
	t := &Table{Tuned: measureTuned(tune, judged, scales)}
	if len(rest) > 0 {
		t.Alarms = MeasureAlarms(settled(rest))
	}
	for i := range rest {
		t.Stages = append(t.Stages, rest[i].Rank())
	}
	return t
}

// named is the stage of that name; nil if it is not there.
func (t *Table) named(name string) *Ranking {
	for i := range t.Stages {
		if t.Stages[i].Stage.Name == name {
			return &t.Stages[i]
		}
	}
	return nil
}

// drawn is the stage that the picture is of: the confirmation once that is whole, else
// the screen, else the first.
func (t *Table) drawn() *Ranking {
	if r := t.named("confirm"); r != nil && r.Stage.whole() {
		return r
	}
	if r := t.named("screen"); r != nil || len(t.Stages) == 0 {
		return r
	}
	return &t.Stages[0]
}

// settled are the stages that are whole, whose early-warning signals do not change as runs
// come in; all of them while none is.
func settled(stages []Stage) []Stage {
	whole := slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { return !s.whole() })
	if len(whole) == 0 {
		return stages
	}
	return whole
}

// Files are the table as files, but for its own page.
func (t *Table) Files() ([]File, error) {
	var rows []Row
	var words bytes.Buffer
	var picture *figure.Figure
	var effects *Effects
	words.WriteString("# Every method under the same stressors\n\nWritten by `simulate table` from the sweeps `tune`, `transfer`, `scales`, `screen`, `confirm`, `models` and `doses`, as far as they are finished. `" +
		SheetFile + "` has every figure with the command that reproduces it; `" + effectsFile + "` has the effects of the confirmation stage, and `" + CorrectionsFile + "` shows them by problem, with the lines to copy; the runs are in the folders next to them, one per line. `simulate methods NAME` explains each setting and each stressor.\n\n")
	files, err := t.Tuned.files(&words)
	if err != nil {
		return nil, err
	}
	for i := range t.Stages {
		r := &t.Stages[i]
		rows = append(rows, r.Rows...)
		words.WriteString("## " + r.Stage.Name + "\n\n" + r.summary() + "\n\n")
		if len(r.Methods) == 0 {
			continue
		}
		screen := t.named("screen")
		if recommended := r.recommendations(screen); recommended != nil {
			words.WriteString(recommended.Markdown() + "\n")
		}
		if r.Stage.Name == "confirm" {
			if effects, err = r.effects(screen); err != nil {
				return nil, err
			}
			if effects != nil {
				if t.Tuned != nil && len(t.Tuned.Tasks) > 0 {
					effects.Tuned = t.Tuned
				}
				lines, err := effects.configurationTable()
				if err != nil {
					return nil, err
				}
				words.WriteString(lines.Markdown() + "\n")
			}
		}
		words.WriteString(r.StandingTable(0).Markdown() + "\n")
		if r.Again != nil {
			words.WriteString(r.againTable().Markdown() + "\n")
		}
		if r == t.drawn() {
			picture = r.Picture("Settings by regret: " + r.Stage.Name)
		}
	}
	if len(t.Stages) > 0 { // the stages with tasks have no part in the signals
		words.WriteString("## Early-warning signals\n\n" + t.Alarms.alarmTable().Markdown() + "\n")
		if len(t.Alarms.Predictors) > 0 {
			words.WriteString(t.Alarms.predictorTable().Markdown())
		}
	}
	text, err := t.Alarms.JSON()
	if err != nil {
		return nil, err
	}
	files = append(files, File{SheetFile, []byte(Sheet(rows).CSV())}, File{wordsFile, words.Bytes()}, File{alarmsFile, text})
	if effects != nil {
		text, err := effects.JSON()
		if err != nil {
			return nil, err
		}
		page, err := effects.Corrections()
		if err != nil {
			return nil, err
		}
		files = append(files, File{effectsFile, text}, File{CorrectionsFile, page.HTML()})
	}
	if picture != nil {
		files = append(files, File{drawnFile, results.PNG(picture, results.LightPaper)})
	}
	return files, nil
}

// files are those of the comparison at tuned rates, which also comes first in the table's words.
func (t *Tuned) files(words *bytes.Buffer) ([]File, error) {
	if t == nil {
		return nil, nil
	}
	words.WriteString("## At tuned learning rates\n\n" + t.summary() + "\n\n")
	if len(t.Tasks) == 0 {
		return nil, nil
	}
	lines, err := t.configurationTable()
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(words, "[%s](%[1]s) says whether the ranking transfers between tasks, base models and learning rates; [%s](%[2]s) has every figure.\n\n", transferFile, tunedSheetFile)
	words.WriteString(lines.Markdown() + "\n" + t.SummaryTable().Markdown() + "\n")
	for _, table := range t.tables() {
		words.WriteString(table.Markdown() + "\n")
	}
	return []File{{tunedSheetFile, []byte(t.sheet().CSV())}, {transferFile, t.transferPage()}, {transferDrawFile, results.PNG(t.picture(), results.LightPaper)}}, nil
}
