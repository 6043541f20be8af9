package reproduce

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/experiments/study"
	"driftlab/results/record"
	"driftlab/trainer/recipe"

	"github.com/klauspost/compress/zstd"
)

type oldCell struct {
	Key  string          `json:"key"`
	Cell json.RawMessage `json:"cell"`
}

func oldCells(dir string) (list []oldCell, err error) {
	text, err := os.ReadFile(filepath.Join(dir, record.CellsFile))
	if err != nil {
		packed, err := os.ReadFile(filepath.Join(dir, record.PackedCells))
		if err != nil {
			return nil, err
		}
		r, err := zstd.NewReader(nil)
		if err != nil {
			return nil, err
		}
		if text, err = r.DecodeAll(packed, nil); err != nil {
			return nil, err
		}
	}
	for line := range bytes.Lines(text) {
		bare, err := record.OpenLine(bytes.TrimSuffix(line, []byte("\n")))
		var c oldCell
		if err == nil {
			err = json.Unmarshal(bare, &c)
		}
		if err != nil || c.Cell == nil {
			return nil, fmt.Errorf("%s: %v", dir, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// rewrite puts cells and plan into the new form.
func rewrite(dir string, cells []record.Cell, x *study.Index, keys []string, verdict []byte) error {
	for _, name := range []string{record.CellsFile, record.PackedCells, record.SumsFile} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	s, err := study.OpenStore(dir, "")
	if err != nil {
		return err
	}
	for i := range cells {
		if err := s.Add(&cells[i]); err != nil {
			return err
		}
	}
	if err := s.WriteIndex(x); err != nil {
		return err
	}
	if verdict != nil {
		if err := s.Write(verdictFile, verdict); err != nil {
			return err
		}
	}
	return s.Seal(keys)
}

// Move moves a folder of older versions, a claim's or a sweep's, and all below it.
func Move(root string) error {
	return filepath.WalkDir(root, func(dir string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, study.PlanFile)); err == nil {
			return nil
		}
		if _, err := os.Stat(filepath.Join(dir, "sweep.json")); err == nil {
			return moveSweep(dir)
		}
		if record.HasCells(dir) {
			return moveClaim(dir)
		}
		return nil
	})
}

func moveClaim(dir string) error {
	old, err := oldCells(dir)
	if err != nil {
		return err
	}
	x := &study.Index{Name: filepath.Base(dir)}
	var cells []record.Cell
	var keys []string
	for _, c := range old {
		seed, err := strconv.ParseUint(strings.TrimPrefix(path.Base(c.Key), "seed-"), 10, 64)
		if err != nil {
			return err
		}
		cells = append(cells, record.Cell{Key: c.Key, Seed: seed, Outcome: c.Cell})
		keys = append(keys, c.Key)
	}
	verdict, err := os.ReadFile(filepath.Join(dir, verdictFile))
	var v struct{ Version int }
	if err == nil {
		if err := json.Unmarshal(verdict, &v); err != nil {
			return err
		}
	}
	x.Version = v.Version
	names, err := filepath.Glob(filepath.Join(dir, "*", "recipes", "arm-*.yaml"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		command, err := armCommand(string(text))
		if err != nil {
			return err
		}
		size := filepath.Base(filepath.Dir(filepath.Dir(name)))
		n := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), "arm-"), ".yaml")
		x.Arms = append(x.Arms, study.Arm{Name: size + "/" + n, Command: command})
		compare(name, string(text))
	}
	if err := rewrite(dir, cells, x, keys, verdict); err != nil {
		return err
	}
	sizes, err := filepath.Glob(filepath.Join(dir, "*-v*"))
	for _, size := range sizes {
		if err := os.RemoveAll(size); err != nil {
			return err
		}
	}
	return err
}

// compare says where the command of an arm makes another recipe.
func compare(name, text string) {
	head, body, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
	var set []string
	was, err := recipe.Parse("arm", []byte(text))
	if err != nil {
		fmt.Println(name, err)
		return
	}
	set = append(set, fmt.Sprintf("steps=%d", was.Steps), "eval.every=0", "name="+was.Name, fmt.Sprintf("seed=%d", was.Seed))
	set = append(set, strings.Split(head, "  ")...)
	if !strings.Contains(head, "checkpoint=") {
		set = append(set, "checkpoint="+was.Checkpoint)
	}
	now, err := recipe.Load("headline", set...)
	if err != nil {
		fmt.Println(name, err)
		return
	}
	_ = body
	if a, b := string(was.Resolved().YAML()), string(now.Resolved().YAML()); a != b {
		x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
		for i := range x {
			if i >= len(y) || x[i] != y[i] {
				fmt.Printf("%s: %q, now %q\n", name, x[i], y[min(i, len(y)-1)])
				break
			}
		}
	} else {
		fmt.Println("same", name)
	}
	_ = claim.Full
}

func moveSweep(dir string) error {
	old, err := oldCells(dir)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(dir, "sweep.json"))
	if err != nil {
		return err
	}
	bare, err := record.OpenLine(bytes.TrimSuffix(text, []byte("\n")))
	if err != nil {
		return err
	}
	var was struct {
		Name    string
		Seeds   []uint64
		Factors []study.IndexFactor
		Points  []struct {
			Values    map[string]string
			Command   string
			Steps     int
			Runs      []string
			CannotAct []string `json:"cannot_act"`
		}
	}
	if err := json.Unmarshal(bare, &was); err != nil {
		return err
	}
	x := &study.Index{Name: was.Name, Seeds: was.Seeds, Factors: was.Factors}
	for i := range x.Factors {
		if len(x.Factors[i].Labels) == 0 {
			x.Factors[i].Labels = nil
		}
	}
	at := map[string][2]int{}
	var keys []string
	for i, p := range was.Points {
		x.Arms = append(x.Arms, study.Arm{Values: p.Values, Command: p.Command, Steps: p.Steps, Keys: p.Runs, CannotAct: p.CannotAct})
		for k, run := range p.Runs {
			if _, seen := at[run]; !seen {
				at[run] = [2]int{i, k}
				keys = append(keys, run)
			}
		}
	}
	var cells []record.Cell
	for _, c := range old {
		var o study.Outcome
		if err := json.Unmarshal(c.Cell, &o); err != nil {
			return err
		}
		var seed struct{ Seed uint64 }
		if err := json.Unmarshal(c.Cell, &seed); err != nil {
			return err
		}
		cell := record.Cell{Key: c.Key, Seed: seed.Seed}
		if place, ok := at[c.Key]; ok {
			var names []string
			for _, f := range x.Factors {
				names = append(names, x.Arms[place[0]].Values[f.Name])
			}
			cell.Arm = strings.Join(names, ", ")
		}
		if cell.Outcome, err = json.Marshal(o); err != nil {
			return err
		}
		// The rest of the old line must be what the new one has.
		if tail := bytes.SplitN(c.Cell, []byte(`"status"`), 2); len(tail) != 2 || !bytes.Equal(append([]byte(`{"status"`), tail[1]...), cell.Outcome) {
			return fmt.Errorf("%s: %s: another outcome:\n%s\n%s", dir, c.Key, c.Cell, cell.Outcome)
		}
		if cell.Curve, err = oldCurve(filepath.Join(dir, "steps", c.Key+".csv.gz")); err != nil {
			return err
		}
		cells = append(cells, cell)
	}
	if err := rewrite(dir, cells, x, keys, nil); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, "sweep.json"))
}

func oldCurve(path string) (json.RawMessage, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		return nil, err
	}
	var r record.Record
	for _, row := range rows[1:] {
		step, err := strconv.Atoi(row[0])
		if err != nil {
			return nil, err
		}
		var m []record.Metric
		for i, field := range row {
			if i > 0 && field != "" {
				v, err := strconv.ParseFloat(field, 64)
				if err != nil {
					return nil, err
				}
				m = append(m, record.Metric{Name: rows[0][i], Value: v})
			}
		}
		r.Add(step, m)
	}
	return json.Marshal(study.CurveOf(&r))
}
