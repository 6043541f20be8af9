package reader_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// truth is what the maker of a set of dumps says of a file.
type truth struct {
	Format   string `json:"format"`
	Step     *int   `json:"step"`
	Recorded *struct {
		Tokens    int      `json:"tokens"`
		NonFinite int      `json:"nonfinite"`
		K1        *float64 `json:"k1"`
		K3        *float64 `json:"k3"`
		MeanAbs   *float64 `json:"mean_abs_dlogp"`
		Chi2      *float64 `json:"chi2_token"`
		Outside   *float64 `json:"share_outside_half_to_2"`
		MeanRatio *float64 `json:"mean_ratio"`
		ESS       *float64 `json:"ess_fraction"`
		MaxAbs    *float64 `json:"max_abs_dlogp"`
		Zero      *float64 `json:"zero_gap_share"`
		Pearson   *float64 `json:"pearson_prob"`
	} `json:"recorded"`
	Complete *int `json:"complete_lines"`
}

// sets are the folders with dumps: that which is shipped, and what DUMPS_DIR names.
func sets() []string {
	list := []string{filepath.Join("..", "..", "..", "testdata", "dumps")}
	if dir := os.Getenv("DUMPS_DIR"); dir != "" {
		list = append(list, dir)
	}
	return list
}

// each visits every file of the sets with what is true of it; a folder is all its files.
func each(t *testing.T, visit func(t *testing.T, want truth, paths []string)) {
	for _, dir := range sets() {
		text := must.Get(os.ReadFile(filepath.Join(dir, "truth.json")))(t)
		var doc struct {
			Files map[string]truth `json:"files"`
		}
		if err := json.Unmarshal(text, &doc); err != nil || len(doc.Files) == 0 {
			t.Fatalf("%s: %v, %d files", dir, err, len(doc.Files))
		}
		for name, want := range doc.Files {
			t.Run(name, func(t *testing.T) {
				path := filepath.Join(dir, name)
				paths := []string{path}
				if info, err := os.Stat(path); err == nil && info.IsDir() {
					paths, _ = filepath.Glob(filepath.Join(path, "*", "*"))
				}
				visit(t, want, paths)
			})
		}
	}
}

// open is a file as the program hands it on.
func open(t testing.TB, path string) reader.Input {
	f := must.Get(os.Open(path))(t)
	t.Cleanup(func() { f.Close() })
	info := must.Get(f.Stat())(t)
	return reader.Input{Name: path, At: f, Size: info.Size(), InFolder: func(name string) bool {
		_, err := os.Stat(filepath.Join(filepath.Dir(path), name))
		return err == nil
	}}
}

// sums are the maker's statistics, from rows and by the maker's formulas.
type sums struct {
	d, roll, old []float64
	nonFinite    int
}

func (s *sums) add(r *reader.Row) error {
	for i, m := range r.Mask {
		if !m || r.Roll == nil || r.Old == nil {
			continue
		}
		d := r.Old[i] - r.Roll[i]
		if math.IsNaN(d) || math.IsInf(d, 0) {
			s.nonFinite++
			continue
		}
		s.d, s.roll, s.old = append(s.d, d), append(s.roll, math.Exp(r.Roll[i])), append(s.old, math.Exp(r.Old[i]))
	}
	return nil
}

func mean(n int, of func(i int) float64) float64 {
	sum := 0.0
	for i := range n {
		sum += of(i)
	}
	return sum / float64(n)
}

func share(n int, is func(i int) bool) float64 {
	return mean(n, func(i int) float64 {
		if is(i) {
			return 1
		}
		return 0
	})
}

func TestRecordedStatistics(t *testing.T) {
	compared := 0
	each(t, func(t *testing.T, want truth, paths []string) {
		var s sums
		var rows int
		for _, path := range paths {
			about := must.Get(reader.Read(open(t, path), "", s.add))(t)
			rows += about.Rows
			if len(about.Damage) == 0 && want.Complete != nil {
				t.Errorf("no damage was noticed")
			}
			if about.Rows > 0 && about.Format != want.Format {
				t.Errorf("taken for %s", about.Format)
			}
			if want.Step != nil && len(paths) == 1 && about.Step != *want.Step {
				t.Errorf("step %d, want %d", about.Step, *want.Step)
			}
		}
		if want.Complete != nil && rows != *want.Complete {
			t.Errorf("%d complete rows, want %d", rows, *want.Complete)
		}
		if want.Recorded == nil {
			return
		}
		w, n := want.Recorded, len(s.d)
		if n+s.nonFinite != w.Tokens || s.nonFinite != w.NonFinite {
			t.Fatalf("%d tokens and %d that are not finite, want %d and %d", n, s.nonFinite, w.Tokens, w.NonFinite)
		}
		d := s.d
		ratio := mean(n, func(i int) float64 { return math.Exp(d[i]) })
		square := mean(n, func(i int) float64 { return math.Exp(2 * d[i]) })
		mx, my := mean(n, func(i int) float64 { return s.roll[i] }), mean(n, func(i int) float64 { return s.old[i] })
		xy := mean(n, func(i int) float64 { return (s.roll[i] - mx) * (s.old[i] - my) })
		xx, yy := mean(n, func(i int) float64 { return (s.roll[i] - mx) * (s.roll[i] - mx) }), mean(n, func(i int) float64 { return (s.old[i] - my) * (s.old[i] - my) })
		for _, c := range []struct {
			name string
			got  float64
			want *float64
		}{
			{"k1", -mean(n, func(i int) float64 { return d[i] }), w.K1},
			{"k3", mean(n, func(i int) float64 { return math.Expm1(d[i]) - d[i] }), w.K3},
			{"mean |d|", mean(n, func(i int) float64 { return math.Abs(d[i]) }), w.MeanAbs},
			{"chi2", square - 1, w.Chi2},
			{"outside", share(n, func(i int) bool { return math.Abs(d[i]) > math.Ln2 }), w.Outside},
			{"mean ratio", ratio, w.MeanRatio},
			{"ess", ratio * ratio / square, w.ESS},
			{"max |d|", slices.Max(append([]float64{0}, abs(d)...)), w.MaxAbs},
			{"zero", share(n, func(i int) bool { return d[i] == 0 }), w.Zero},
			{"pearson", xy / math.Sqrt(xx*yy), w.Pearson},
		} {
			if c.want == nil {
				continue
			}
			compared++
			if math.Abs(c.got-*c.want) > 1e-9*math.Abs(*c.want) {
				t.Errorf("%s is %v, want %v", c.name, c.got, *c.want)
			}
		}
	})
	if compared < 50 {
		t.Errorf("only %d statistics were compared", compared)
	}
}

func abs(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}
