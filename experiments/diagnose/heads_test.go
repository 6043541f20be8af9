package diagnose

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// headWorld are responses of an engine over 20 tokens, with the k likeliest of those in all of which it may sample; exact is the mean divergence of a token.
type headWorld struct {
	k, kept int                                      // 0: all
	change  func(row map[string]any, mass []float64) // of the finished row, by the mass of each token's head
}

func logSoftmax(z []float64) []float64 {
	sum := 0.0
	for _, x := range z {
		sum += math.Exp(x)
	}
	z = slices.Clone(z)
	for v := range z {
		z[v] -= math.Log(sum)
	}
	return z
}

func (w headWorld) dump(seed uint64) (text string, exact float64) {
	r := rand.New(rand.NewPCG(seed, 61))
	var b strings.Builder
	tokens := 0
	for range 60 {
		var id, ids, roll, old, head, headOld []any
		var mass []float64
		for range 20 + r.IntN(20) {
			z, y := make([]float64, 20), make([]float64, 20)
			for v := range z {
				z[v] = 2 * r.NormFloat64()
				y[v] = z[v] + 0.3*r.NormFloat64()
			}
			order := make([]int, 20)
			for v := range order {
				order[v] = v
			}
			slices.SortFunc(order, func(a, b int) int { return cmp.Compare(z[b], z[a]) })
			if w.kept > 0 {
				for _, v := range order[w.kept:] {
					z[v] = math.Inf(-1)
				}
			}
			q, p := logSoftmax(z), logSoftmax(y)
			u, token := r.Float64(), 0
			for v, x := range q {
				if u -= math.Exp(x); u < 0 {
					token = v
					break
				}
			}
			for v, x := range q {
				if !math.IsInf(x, -1) {
					exact += math.Exp(x) * (x - p[v])
				}
			}
			tokens++
			id, roll, old = append(id, token), append(roll, q[token]), append(old, p[token])
			var h, hq, hp []any
			sum := 0.0
			for _, v := range order[:cmp.Or(w.k, w.kept, 20)] {
				h, hq, hp, sum = append(h, v), append(hq, q[v]), append(hp, p[v]), sum+math.Exp(q[v])
			}
			ids, head, headOld, mass = append(ids, h), append(head, hq), append(headOld, hp), append(mass, sum)
		}
		row := map[string]any{"token_ids": id, "logp_rollout": roll, "logp_old": old, "topk_ids": ids, "topk_logp_rollout": head, "topk_logp_old": headOld}
		if w.change != nil {
			w.change(row, mass)
		}
		line, _ := json.Marshal(row)
		b.Write(append(line, '\n'))
	}
	return b.String(), exact / float64(tokens)
}

// The divergence of whole heads equals that of the distributions, and the divergence of partial heads is no larger; kept sets give the mean ratio that the learner must have; each way to
// renormalise one of the columns and not the other is named, as are sets of other tokens.
func TestHeads(t *testing.T) {
	shifted := func(key string) func(map[string]any, []float64) {
		return func(row map[string]any, _ []float64) {
			list := row[key].([]any)
			row[key] = append(slices.Clone(list[1:]), list[0])
		}
	}
	by := func(key string, sign float64) func(map[string]any, []float64) {
		return func(row map[string]any, mass []float64) {
			for i, m := range mass {
				if head, ok := row[key].([]any)[i].([]any); ok {
					for v := range head {
						head[v] = head[v].(float64) + sign*math.Log(m)
					}
				} else if slices.Contains(row["topk_ids"].([]any)[i].([]any), row["token_ids"].([]any)[i]) {
					row[key].([]any)[i] = row[key].([]any)[i].(float64) + sign*math.Log(m)
				}
			}
		}
	}
	setsAlone := func(row map[string]any, mass []float64) {
		row["support"] = row["topk_ids"]
		for _, key := range []string{"topk_ids", "topk_logp_rollout", "topk_logp_old"} {
			delete(row, key)
		}
	}
	for _, c := range []struct {
		name  string
		world headWorld
		want  string
	}{
		{"all", headWorld{}, "a token, exact;"}, {"eight", headWorld{k: 8}, "at least, and exact on 0 %"}, {"kept set", headWorld{kept: 8}, "a token, exact;"},
		{"sets alone", headWorld{kept: 8, change: setsAlone}, ""},
		{"sets of some", headWorld{kept: 8, change: func(row map[string]any, mass []float64) {
			setsAlone(row, mass)
			row["support"].([]any)[3], row["support"].([]any)[0] = nil, nil
		}}, ""},
		{"column renormalised", headWorld{k: 4, change: by("logp_rollout", -1)}, "renormalised over the recorded head"},
		{"head renormalised", headWorld{k: 4, change: by("topk_logp_rollout", -1)}, "renormalised to the mass 1"},
		{"head of the next token", headWorld{k: 20, change: shifted("topk_logp_old")}, "are other ones in the recorded head"},
		{"set of the next token", headWorld{kept: 5, change: func(row map[string]any, mass []float64) { setsAlone(row, mass); shifted("support")(row, mass) }}, "the sets belong to other tokens"},
		{"missing lists", headWorld{k: 4, change: func(row map[string]any, _ []float64) { row["topk_ids"] = row["topk_ids"].([]any)[1:] }}, "is not read in all rows"},
	} {
		text, exact := c.world.dump(uint64(len(c.name)))
		a := New(Options{})
		must.Do(t, a.Read(reader.Input{Name: "d.jsonl", At: strings.NewReader(text), Size: int64(len(text))}))
		report := a.Report()
		var faults []string
		found := strings.Join(report.Inputs[0].Notes, " ")
		for _, f := range report.Findings {
			if f.ID == "head" && f.Level == Fault {
				faults = append(faults, f.Text)
			}
			if f.ID == "head" {
				found += " " + f.Text
			}
			var kl float64
			if n, _ := fmt.Sscanf(f.Text, "KL(rollout, learner) of the recorded heads: %g", &kl); n == 1 && c.world.change == nil &&
				(kl > exact*1.01 || c.world.k == 0 && kl < exact*0.99 || c.world.k > 0 && kl < exact/2) {
				t.Errorf("%s: KL %v, of the distributions %v", c.name, kl, exact)
			}
		}
		if !strings.Contains(found, c.want) || c.want == "" && found != "" {
			t.Errorf("%s: %q", c.name, found)
		}
		if healthy := c.world.change == nil || c.want == "" || c.name == "missing lists"; healthy != (len(faults) == 0) {
			t.Errorf("%s: faults %q", c.name, faults)
		}
		if c.name == "kept set" {
			for _, check := range report.Checks {
				if check.ID == "law-identity" && check.Scope == everything.String() && (check.Result != Pass || report.Verdict.State == Repair) {
					t.Errorf("%s: %+v, %s", c.name, check, report.Verdict.LogProbs)
				}
			}
		}
	}
}
