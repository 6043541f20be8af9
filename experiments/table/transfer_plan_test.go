package table

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// The lines of the file of the stage transfer between which the tuning stage's part stands.
const (
	tunedOpens  = "# from the tuning stage:\n"
	tunedCloses = "# end of the tuning stage's part.\n"
)

// TransferPlan is the file of the stage transfer with the part that follows from a tuning stage:
// its factors, as the tuning stage's file has them, and for each task that is tuned every setting
// at its own learning rate under each stressor.
func TransferPlan(file, tune []byte, s *Stage) ([]byte, error) {
	head, rest, ok := bytes.Cut(file, []byte(tunedOpens))
	_, tail, closed := bytes.Cut(rest, []byte(tunedCloses))
	if !ok || !closed {
		return nil, fmt.Errorf("table: the file of the stage transfer lacks %q or %q", strings.TrimSpace(tunedOpens), strings.TrimSpace(tunedCloses))
	}
	from, to := bytes.Index(tune, []byte("factors:\n")), bytes.Index(tune, []byte("only:\n"))
	if from < 0 || to < from {
		return nil, fmt.Errorf("table: the file of the tuning stage has no factors before only")
	}
	tunings := s.Tunings()
	tasks, settings := s.tunedTasks(tunings)
	if len(tasks) == 0 {
		return nil, fmt.Errorf("table: the tuning stage has no task that is whole")
	}
	type place struct{ task, stressor, rate string }
	var order []place
	methods := map[place][]string{}
	for _, t := range tunings {
		if !slices.Contains(tasks, t.Task) || !slices.Contains(settings[t.Task], t.Method) {
			continue
		}
		p := place{t.Task, t.Stressor, t.Rate()}
		if methods[p] == nil {
			order = append(order, p)
		}
		methods[p] = append(methods[p], t.Method)
	}
	out := bytes.NewBuffer(bytes.Clone(head))
	out.WriteString(tunedOpens)
	out.Write(tune[from:to])
	out.WriteString("only:\n")
	for _, p := range order {
		fmt.Fprintf(out, "  - {task: [%s], stressor: [%s], rate: [%s], method: [%s]}\n", p.task, p.stressor, p.rate, strings.Join(methods[p], ", "))
	}
	out.WriteString(tunedCloses)
	out.Write(tail)
	return out.Bytes(), nil
}
