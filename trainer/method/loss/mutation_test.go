package loss

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

var mutate = flag.Bool("mutations", false, "compile every listed mutation and run the tests against it (minutes)")

// mutations are changes of one sign, clip or mask each. Every one must break a
// test: what no test notices is not tested.
var mutations = []struct{ file, old, new string }{
	{"frame.go", "l1, l2 := -a*free, -a*bound", "l1, l2 := -a*free, a*bound"},
	{"frame.go", "if r < low || r > high {", "if r < low {"},
	{"frame.go", "if dualClip > 0 && a < 0 {", "if dualClip > 0 && a > 0 {"},
	{"frame.go", "return x, (dx + dy) / 2", "return x, dy"},
	{"frame.go", "w *= f.in.Weight[n]", "w *= 1"},
	{"frame.go", "if f.in.Gate != nil && !f.in.Gate[n] {", "if false {"},
	{"frame.go", "f.active = in.Active()", "f.active = in.Mask"},
	{"frame.go", "return elementary.Exp(clamp(x, -limit, limit)), 0", "return elementary.Exp(clamp(x, -limit, limit)), elementary.Exp(clamp(x, -limit, limit))"},
	{"aggregation.go", "return a.rowWeights(dst, in, in.Mask, groups)", "return a.rowWeights(dst, in, in.Active(), groups)"},
	{"aggregation.go", "dst[i] = ranks / (rows * (length + 1e-8))", "dst[i] = ranks / (rows * (length + 1e-6))"},
	{"aggregation.go", "dst[i] = ranks / (all * max(length, 1))", "dst[i] = ranks / (rows * max(length, 1))"},
	{"kl.go", "derivative = -elementary.Expm1(x)", "derivative = elementary.Expm1(x)"},
	{"kl.go", "return bounds.Value, 0", "return bounds.Value, derivative"},
	{"kl.go", "return x * k3, -x * u", "return x * k3, x * dk3"},
	{"kl.go", "clamp(kl/c.Target-1, -0.2, 0.2)", "clamp(kl/c.Target-1, -0.2, 0.3)"},
	{"entropy.go", "dlogits[a] -= float64(scale * p * (float64(lp) + h))", "dlogits[a] -= float64(scale * p * (float64(lp) - h))"},
	{"entropy.go", "in.Now.Entropy[n] < threshold", "in.Now.Entropy[n] <= threshold"},
	{"distillation.go", "slope := float64(k.Coef * w * d)", "slope := float64(-k.Coef * w * d)"},
	{"distillation.go", "if held := clamp(d, -bound, bound); held != d {", "if held := clamp(d, -bound, bound); held > d {"},
	{"distillation.go", "if in.Guided != nil && !in.Guided[n] {\n\t\t\treturn\n\t\t}\n\t\ttokens++\n\t\tat := n", "if false {\n\t\t\treturn\n\t\t}\n\t\ttokens++\n\t\tat := n"},
	{"distillation.go", "(1 - j.Beta) * (float64(logp[a]) - m)", "(1 - j.Beta) * (float64(logp[a]) + m)"},
	{"distillation.go", "slope = -float64(p * (value + own))", "slope = -float64(p * value)"},
	{"cispo.go", "w := clamp(r, low, high)\n\t\t\t\tchanged += count(w != r)\n\t\t\t\traw.add(r)", "w := max(r, low)\n\t\t\t\tchanged += count(w != r)\n\t\t\t\traw.add(r)"},
	{"sapo.go", "if a > 0 {\n\t\treturn p.TauPos", "if a >= 0 {\n\t\treturn p.TauNeg"},
	{"gspo.go", "if limit > 0 && x > limit {", "if limit > 0 && x > 2*limit {"},
	{"gspo.go", "gradient += w * dlogp / length", "gradient += w * dlogp"},
	{"gmpo.go", "case a < 0:\n\t\treturn max(lr, -p.EpsLow)", "case a < 0:\n\t\treturn min(lr, p.EpsHigh)"},
	{"dppo.go", "return d < -low\n", "return d < low\n"},
	{"dppo.go", "return b > high && logp > anchor", "return b > high"},
	{"dppo.go", "w, _ := f.capped(r, p.Cap)", "w, _ := f.capped(r, 0)"},
	{"kl_cov.go", "dlogp += float64(p.Beta * sign(lr))", "dlogp -= float64(p.Beta * sign(lr))"},
	{"clip_cov.go", "cov[n] > p.Low && cov[n] < p.High", "cov[n] > p.Low"},
	{"dro.go", "-(a - float64(p.Beta*lr))", "-(a + float64(p.Beta*lr))"},
	{"vespo.go", "\tx = max(x, elementary.Log(1e-8))\n", ""},
	{"vespo.go", "weights.add(elementary.Exp(x))", "weights.add(elementary.Exp(max(x, elementary.Log(1e-8))))"},
	{"m2po.go", "a < -1e-12 && lr < 0", "a < -1e-12 && lr > 0"},
	{"m2po.go", "sum -= v[t]", "sum += v[t]"},
	{"aspo.go", "return -a / bound, 0", "return -a / bound, -a * dr"},
	{"ctpo.go", "return elementary.Exp(-p.Low * scale), ", "return elementary.Exp(-p.Low), "},
	{"minpro.go", "smallest = min(smallest, held)", "smallest = held"},
	{"topr.go", "if score <= 0 {", "if score < 0 {"},
	{"prime.go", "value, dlogp = float64(tau*l*l), float64(2*tau*l)", "value, dlogp = float64(tau*l*l/2), float64(tau*l)"},
	{"prime.go", "low, high := held < p.Low, held > p.High", "low, high := held < p.Low, false"},
	{"prime.go", "min(w, p.Clip) / max(f.length(i), 1)", "min(w, p.Clip)"},
	{"decoupled_ppo.go", "return clamp((lag-1)/lag, 0, 1)", "return clamp(1/lag, 0, 1)"},
	{"decoupled_ppo.go", "if p.Cap == 0 || w <= p.Cap {", "if p.Cap == 0 || w >= p.Cap {"},
	{"oapl.go", "f.spread(i, 2*w*scale*residual)", "f.spread(i, w*scale*residual)"},
	{"kimi.go", "f.spread(i, w*p.Tau*sum)", "f.spread(i, -w*p.Tau*sum)"},
	{"online_dpo.go", "f.spread(l, slope)", "f.spread(l, -slope)"},
	{"maxrl.go", "return a / (mean + p.Epsilon)", "return a / (1 + p.Epsilon)"},
	{"quatro.go", "coef := w * (push - pull)", "coef := w * (push + pull)"},
	{"r2vpo.go", "(-a + math.Copysign(2*p.Lambda, d)) * dr", "(-a + math.Copysign(p.Lambda, d)) * dr"},
	{"r2vpo.go", "(-a + float64(2*p.Lambda*(r-mean))) * dr", "(-a + float64(p.Lambda*(r-mean))) * dr"},
	{"st_ppo.go", "return a > 0 && r > 1+p.EpsHigh || a < 0 && r < 1-p.EpsLow", "return a > 0 && r < 1+p.EpsHigh || a < 0 && r < 1-p.EpsLow"},
	{"espo.go", "width *= clamp(h/size/mean, 0.5, 2)", "width *= clamp(mean*size/h, 0.5, 2)"},
	{"acr.go", "(1+p.EpsHigh)*x/w", "(1+p.EpsHigh)*w/x"},
	{"trm.go", "if p.largest(f, i) > p.Delta {", "if p.largest(f, i) < p.Delta {"},
	{"logit_fusion.go", "case held < p.Floor:", "case held > p.Floor && held < 1:"},
	{"logit_fusion.go", "dr * p.Gamma / ((r + p.Gamma) * (r + p.Gamma))", "dr / (r + p.Gamma)"},
	{"cispo.go", "if correct {", "if !correct {"},
	{"frame.go", "w = min(r, limit)", "w = max(r, limit)"},
	{"reinforce.go", "w >= 1+p.EpsHigh", "w >= 1+p.EpsHigh+9"},
	{"reinforce.go", "f.spread(i, -w*a*dr)", "f.spread(i, -w*a*dr/r)"},
	{"ref_kl.go", "ref[n]-f.sg[n]", "ref[n]-in.Now.Logp[n]"},
	{"dro.go", "DualClip: p.Dual, ", ""},
	{"gspo.go", `Mode: "seq-all-token-sum"`, `Mode: "seq-mean-token-sum"`},
	{"dro.go", "> delta\n", "> 2*delta\n"},
	{"entropy.go", "if e.last <= e.Target {", "if e.last > e.Target {"},
	{"distillation.go", "sign(a) * (in.Teacher", "(in.Teacher"},
	{"distillation.go", "o.lowered[n] -= float64", "o.lowered[n] += float64"},
	{"iw_opd.go", "1+float64(p.Gamma*(1-before[n]))", "1+float64(p.Gamma*before[n])"},
	{"flowrl.go", "(rows*(f.length(i)+1e-8))", "rows"},
	{"flowrl.go", "p.logZ[k] -= float64", "p.logZ[k] += float64"},
}

// TestMutations checks that every mutation still applies to the source, and
// with -mutations that some test notices it.
func TestMutations(t *testing.T) {
	for _, m := range mutations {
		source, err := os.ReadFile(m.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(source), m.old); n != 1 {
			t.Errorf("%s: %q occurs %d times, want 1", m.file, m.old, n)
			continue
		}
		if *mutate && survives(t, m.file, strings.Replace(string(source), m.old, m.new, 1)) {
			t.Errorf("%s: no test notices %q", m.file, m.new)
		}
	}
}

// survives runs the tests of the package with one file replaced.
func survives(t *testing.T, file, source string) bool {
	t.Helper()
	dir := t.TempDir()
	path, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	mutant := filepath.Join(dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutant}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{mutant: []byte(source), filepath.Join(dir, "overlay.json"): overlay} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The worked examples notice almost anything: leave them out, so that the
	// proper tests have to.
	text, err := exec.Command("go", "test", "-vet=off", "-overlay", filepath.Join(dir, "overlay.json"), "-skip", "WorkedExamples|Mutations", ".").CombinedOutput()
	if err == nil {
		return true
	}
	if !strings.Contains(string(text), "--- FAIL") {
		t.Errorf("%s: the mutant does not compile:\n%s", file, text)
	}
	return false
}
