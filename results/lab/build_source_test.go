package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/results/stats"
)

// publishedFolder reads figures from results/published.
type publishedFolder struct {
	t     testing.TB
	dir   fs.FS
	files map[string]any // what was read, by name
	// cells are the cells of a folder of claims, by its name.
	cells map[string]*record.Cells
}

func newPublished(t testing.TB, dir fs.FS) *publishedFolder {
	return &publishedFolder{t, dir, map[string]any{}, map[string]*record.Cells{}}
}

// root is where the files are found from the top of the repository.
const root = "results/published"

// open reads a JSON file.
func (p *publishedFolder) open(name string) (any, error) {
	if v, ok := p.files[name]; ok {
		return v, nil
	}
	text, err := p.read(name)
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p.files[name] = v
	return v, nil
}

// read reads a file, or the cell DIR/KEY.json of the folder above.
func (p *publishedFolder) read(name string) ([]byte, error) {
	text, err := fs.ReadFile(p.dir, name)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	size, seed := path.Split(name)
	dir := path.Dir(path.Clean(size))
	if p.cells[dir] == nil {
		at := path.Join(dir, record.PackedCells)
		packed, missing := fs.ReadFile(p.dir, at)
		if missing != nil {
			return nil, err
		}
		if p.cells[dir], err = record.ParseCells(at, packed); err != nil {
			return nil, err
		}
	}
	if cell := p.cells[dir].Get(path.Join(path.Base(size), strings.TrimSuffix(seed, ".json"))); cell != nil {
		return cell.Outcome, nil
	}
	return nil, err
}

// number reads the figure at a field of a JSON file, the mean of a list of them.
func (p *publishedFolder) number(name, field string) (float64, error) {
	v, err := p.open(name)
	if err == nil {
		v, err = at(v, field)
	}
	if err != nil {
		return 0, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	x := make([]float64, len(list))
	for i := range list {
		if x[i], ok = list[i].(float64); !ok {
			return 0, fmt.Errorf("%s: %s: %v is not a number", name, field, list[i])
		}
	}
	return stats.Average(x), nil
}

// at follows a field: names with dots between, [3] for an entry of a list and
// [name=bf16&dose=natural] for the first that has those members.
func at(v any, field string) (any, error) {
	fail := func(part string) (any, error) { return nil, fmt.Errorf("no %s in %s", part, field) }
	for rest := field; rest != ""; {
		var part string
		rest = strings.TrimPrefix(rest, ".")
		if inner, ok := strings.CutPrefix(rest, "["); ok {
			part, rest, ok = strings.Cut(inner, "]")
			list, isList := v.([]any)
			if !ok || !isList {
				return fail("[" + part + "]")
			}
			if v = pick(list, part); v == nil {
				return fail("[" + part + "]")
			}
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		part, rest = rest[:end], rest[end:]
		object, _ := v.(map[string]any)
		if v = object[part]; v == nil {
			return fail(part)
		}
	}
	return v, nil
}

// pick is the entry of that number, or the first with the members; nil for none.
func pick(list []any, which string) any {
	if i, err := strconv.Atoi(which); err == nil {
		if i < 0 {
			i += len(list)
		}
		if i < 0 || i >= len(list) {
			return nil
		}
		return list[i]
	}
next:
	for _, v := range list {
		object, _ := v.(map[string]any)
		for member := range strings.SplitSeq(which, "&") {
			name, want, _ := strings.Cut(member, "=")
			if fmt.Sprint(object[name]) != want {
				continue next
			}
		}
		return v
	}
	return nil
}

// claimed is what a claim's verdict says of its measurement.
type claimed struct {
	Verdict string   `json:"verdict"`
	Seeds   []uint64 `json:"seeds"`
	Size    string   `json:"size"`
	Version int      `json:"version"`
	folder  string   // of the observations
}

func (p *publishedFolder) claim(id string) (claimed, error) {
	var c claimed
	text, err := fs.ReadFile(p.dir, path.Join("claims", id, "verdict.json"))
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	c.folder = path.Join("claims", id, fmt.Sprintf("%s-v%d", c.Size, c.Version))
	return c, err
}

// observed reads a series of a claim from every replication that the verdict was
// judged from.
func (p *publishedFolder) observed(id, series string) (rows [][]float64, err error) {
	c, err := p.claim(id)
	if err != nil {
		return nil, err
	}
	for _, seed := range c.Seeds {
		file := path.Join(c.folder, fmt.Sprintf("seed-%d.json", seed))
		v, err := p.open(file)
		if err == nil {
			v, err = at(v, "[name="+series+"].values")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		var row []float64
		for _, x := range v.([]any) {
			value, ok := x.(float64)
			if !ok {
				return nil, fmt.Errorf("%s: %s: %v is not a number", file, series, x)
			}
			row = append(row, value)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// entries reads an entry of a series, such as "natural product 2[0]", from every replication.
func (p *publishedFolder) entries(id, field string) ([]float64, error) {
	series, entry, ok := strings.Cut(strings.TrimSuffix(field, "]"), "[")
	if !ok {
		return nil, fmt.Errorf("field %q: expected a series and an entry, such as name[0]", field)
	}
	rows, err := p.observed(id, series)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(rows))
	for i, row := range rows {
		at, err := strconv.Atoi(entry)
		if err != nil || at < 0 || at >= len(row) {
			return nil, fmt.Errorf("no entry %s in %s", entry, series)
		}
		out[i] = row[at]
	}
	return out, nil
}

// observation reads a figure of a claim's observations.
func (p *publishedFolder) observation(spec figureSource) (Shown, error) {
	values, err := p.entries(spec.Claim, spec.Field)
	if err != nil {
		return Shown{}, err
	}
	field := spec.Field
	if spec.Over != "" {
		over, err := p.entries(spec.Claim, spec.Over)
		if err != nil {
			return Shown{}, err
		}
		field += " over " + spec.Over
		for i := range values {
			values[i] /= over[i]
		}
	}
	c, err := p.claim(spec.Claim)
	s := Shown{Source: path.Join(root, c.folder)}
	switch spec.Of {
	case "":
		s.Value, s.Field = stats.Average(values), field+", mean over the replications"
	case "min":
		s.Value, s.Field = slices.Min(values), field+", smallest of the replications"
	case "max":
		s.Value, s.Field = slices.Max(values), field+", largest of the replications"
	default:
		return Shown{}, fmt.Errorf("of %q: expected min or max", spec.Of)
	}
	return s, err
}

// means is the mean over the replications of each entry of a series.
func (p *publishedFolder) means(id, series string) []float64 {
	rows := must.Get(p.observed(id, series))(p.t)
	out := make([]float64, len(rows[0]))
	for i := range out {
		var column []float64
		for _, row := range rows {
			column = append(column, row[i])
		}
		out[i] = stats.Average(column)
	}
	return out
}
