package table

import (
	"bytes"
	"cmp"
	"slices"

	"driftlab/results"
)

// The files of the table.
const (
	SheetFile  = "table.csv"
	wordsFile  = "table.md"
	drawnFile  = "table.png"
	AlarmsFile = "alarms.json"
)

// File is a file's name and what it holds.
type File struct {
	Name string
	Data []byte
}

// named is the stage of that name; nil if it is not there.
func named(stages []Stage, name string) *Stage {
	for i := range stages {
		if stages[i].Name == name {
			return &stages[i]
		}
	}
	return nil
}

// drawnOf is the stage that the picture is of: the confirmation once that is whole, else
// the screen, else the first.
func drawnOf(stages []Stage) *Stage {
	if s := named(stages, "confirm"); s != nil && s.whole() {
		return s
	}
	return cmp.Or(named(stages, "screen"), &stages[0])
}

// settled are the stages that are whole, whose alarms do not change as runs come in; all
// of them while none is.
func settled(stages []Stage) []Stage {
	whole := slices.DeleteFunc(slices.Clone(stages), func(s Stage) bool { return !s.whole() })
	if len(whole) == 0 {
		return stages
	}
	return whole
}

// Files are the table as files, but for the page, and the alarms that are in one of
// them.
func Files(stages []Stage) ([]File, Alarms, error) {
	var rows []Row
	var words bytes.Buffer
	var picture *results.Heat
	words.WriteString("# Every method on the same stressors\n\nMade by `simulate table` from the sweeps `screen`, `confirm` and `doses`, as far as they have come; all figures stand in `" +
		SheetFile + "`, each with the command that makes it alone, and the runs beside it, a line each.\n\n")
	for i := range stages {
		s := &stages[i]
		own := s.Rows()
		rows = append(rows, own...)
		stressors := Stressors(own)
		list := s.Standings(own)
		words.WriteString("## " + s.Name + "\n\n" + s.summary(own, list) + "\n\n")
		if len(list) == 0 {
			continue
		}
		if t := s.answers(list, stressors, named(stages, "screen")); t != nil {
			words.WriteString(t.Markdown() + "\n")
		}
		words.WriteString(StandingTable(list, stressors, 0).Markdown() + "\n")
		if s.Again != nil {
			words.WriteString(s.againTable(own).Markdown() + "\n")
		}
		if s == drawnOf(stages) {
			picture = Picture(list, stressors, "Methods by regret: "+s.Name)
		}
	}
	alarms := MeasureAlarms(settled(stages))
	words.WriteString("## Alarms\n\n" + alarms.AlarmTable().Markdown() + "\n")
	if len(alarms.Predictors) > 0 {
		words.WriteString(alarms.PredictorTable().Markdown())
	}
	text, err := alarms.JSON()
	if err != nil {
		return nil, alarms, err
	}
	files := []File{{SheetFile, []byte(Sheet(rows).CSV())}, {wordsFile, words.Bytes()}, {AlarmsFile, text}}
	if picture != nil {
		files = append(files, File{drawnFile, results.PNG(picture, results.LightPaper)})
	}
	return files, alarms, nil
}
