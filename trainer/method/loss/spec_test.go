package loss

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"driftlab/results/stats"
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

var update = flag.Bool("update", false, "write the worked examples of the specs")

// onTwoResponses is what the worked example of a loss begins with.
const onTwoResponses = "logp -0.5 -1.2 -2.0, old -0.7 -1.0 -2.5, roll -0.6 -1.3 -2.2; the same response with A = +1, R = 1 and with A = -1, R = 0\n"

// workedBatch is the batch of the worked examples, with every column.
func workedBatch() *batch.Batch { return Worked(nil) }

const (
	klInput   = "logp -0.5 -1.2 -2.0, ref -0.9 -0.8 -2.1, roll -0.6 -1.3 -2.2; coefficient 1, token-mean"
	distInput = "p = 0.606531 0.262312 0.131156 at the first of three tokens; coefficient 1, token-mean"
)

func numbersText(x []float64) string {
	parts := make([]string, len(x))
	for i, v := range x {
		if parts[i] = fmt.Sprintf("%.6f", v); parts[i] == "-0.000000" {
			parts[i] = "0.000000"
		}
	}
	return strings.Join(parts, " ")
}

func lossExample(t *testing.T, l Loss) string {
	t.Helper()
	out := eval(t, l, Worked(l))
	return fmt.Sprintf("%sA = +1: d loss/d logp = %s\nA = -1: d loss/d logp = %s; loss = %s", onTwoResponses,
		numbersText(out.DLogp[:3]), numbersText(out.DLogp[3:]), numbersText([]float64{out.Loss}))
}

func klExample(t *testing.T, e method.Entry[KL]) string {
	t.Helper()
	b := workedBatch()
	term := e.New()
	switch k := term.(type) {
	case *KLTerm:
		k.Coef = 1
	case *UnbiasedKL:
		k.Coef = 1
	case *ExactKL:
		k.Coef = 1
		return distExample(t, b, k)
	}
	return logpExample(t, b, klInput, term)
}

func distExample(t *testing.T, b *batch.Batch, term adder) string {
	t.Helper()
	out := addedTo(t, term, b)
	return fmt.Sprintf("%s\nloss = %s\nd loss/d logits at that token = %s", distInput, numbersText([]float64{out.Loss}), numbersText(out.DLogits[:3]))
}

func termExample(t *testing.T, term Term) string {
	t.Helper()
	b := workedBatch()
	switch e := term.(type) {
	case *Entropy:
		e.Coef = 1
		return distExample(t, b, e)
	case *ShadowDistillation:
		e.Coef = 1
		return distExample(t, b, e)
	case *DistillK2:
		e.Coef = 1
		return logpExample(t, b, "logp -0.5 -1.2 -2.0, teacher -0.4 -1.0 -1.0; coefficient 1, no clip, token-mean over two such responses", e)
	case *SDAR:
		e.Coef = 1
		return logpExample(t, b, "logp -0.5 -1.2 -2.0, teacher -0.4 -1.0 -1.0; coefficient 1, β 5, token-mean over two such responses", e)
	case *PositiveNLL:
		e.Coef = 1
		return logpExample(t, b, "logp -0.5 -1.2 -2.0 of a response with R = 1, and of one with R = 0; coefficient 1", e)
	case *AdaptiveEntropy:
		e.adapt(0.1)
		first, used := e.Coef, e.coefficient()
		e.adapt(0.3)
		return fmt.Sprintf("target 0.2, δ 0.005, coefficient 0 at first; entropies of two updates 0.1 and 0.3\nafter the first: coefficient %v, of which the second uses %v\nafter the second: coefficient %v, of which the third uses %v", first, used, e.Coef, e.coefficient())
	case *RLSD:
		return advantageExample(t, b, "old -0.7 -1.0 -2.5, teacher -0.4 -1.0 -1.0; λ 0.5, clip range 0.2", e)
	case *OPDTopK:
		e.TopK = 0
		return advantageExample(t, b, "old -0.7 -1.0 -2.5, teacher -0.4 -1.0 -1.0; coefficient 1, top_k 0", e)
	case *GKD:
		e.TopK = 2
		return strings.Replace(distExample(t, b, e), "coefficient 1", "t = 0.670320 0.164840 0.164840, its first two; coefficient 1", 1)
	case *JSD:
		return strings.Replace(distExample(t, b, e), "coefficient 1", "t = 0.670320 0.164840 0.164840; beta 0.5, coefficient 1", 1)
	case *ALP:
		before := e.Sigmas(2)
		e.Move([]float64{3, -2})
		after := e.Sigmas(2)
		return fmt.Sprintf("two layers, σ %.8f each, learning rate %v\nd L/d σ = 3 and -2\nafter one update σ = %.8f %.8f", before[0], e.LR, after[0], after[1])
	case *TopEntropy:
		must(t, e.Prepare(b))
		return fmt.Sprintf("entropies 0.5 1.0 2.0 in each of two responses, share 0.2\nthe 0.8 quantile of the six is %s\ngates = %v", numbersText([]float64{stats.Quantile([]float64{0.5, 0.5, 1, 1, 2, 2}, 0.8)}), b.Gate)
	}
	return ""
}

// advantageExample is the example of a term that changes advantages.
func advantageExample(t *testing.T, b *batch.Batch, given string, term Term) string {
	t.Helper()
	must(t, Prepare(term, b))
	return fmt.Sprintf("%s\nA = +1: %s\nA = -1: %s", given, numbersText(b.Advantage[:3]), numbersText(b.Advantage[3:]))
}

// logpExample is the example of a term in the log-probs, on top of nothing.
func logpExample(t *testing.T, b *batch.Batch, given string, term adder) string {
	t.Helper()
	out := addedTo(t, term, b)
	return fmt.Sprintf("%s\nloss = %s\nd loss/d logp = %s", given, numbersText([]float64{out.Loss}), numbersText(out.DLogp[:3]))
}

// TestWorkedExamples recomputes the numbers of every Spec's example.
func TestWorkedExamples(t *testing.T) {
	text := map[string]string{}
	examples, err := texts.ReadFile("examples.txt")
	must(t, err)
	check := func(spec method.Spec, want string) {
		if spec.Example == "" || strings.Contains("\n\n"+string(examples), "\n\n"+spec.Name+"\n") { // the others are in the file of the loss
			text[spec.Name] = want
		}
		if spec.Example != want && !*update {
			t.Errorf("%s: the example reads\n%s\nand should read\n%s", spec.Name, spec.Example, want)
		}
	}
	for _, e := range Registry {
		check(e.Spec, lossExample(t, e.New()))
	}
	for _, e := range KLRegistry {
		check(e.Spec, klExample(t, e))
	}
	for _, e := range TermRegistry {
		check(e.Spec, termExample(t, e.New()))
	}
	if !*update {
		return
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(text)) {
		fmt.Fprintf(&b, "%s\n%s\n\n", name, text[name])
	}
	must(t, os.WriteFile("examples.txt", []byte(strings.TrimSuffix(b.String(), "\n")), 0o644))
}

// TestSpecsComplete checks that every entry says what a reader needs; names and defaults are
// checked with those of all methods, in package recipe.
func TestSpecsComplete(t *testing.T) {
	for _, e := range everyMethod() {
		s := e.spec
		if s.Unit == "" || s.Source == "" || s.Formula == "" || s.Gradient == "" || strings.Count(s.Example, "\n") != 2 {
			t.Errorf("%s: unit, source, formula, gradient and a three-line example must be there", e.name)
		}
		if kind, _, other := strings.Cut(e.name, " "); s.Group != "loss" && !other || s.Group != kind && kind == "kl" {
			t.Errorf("%s: group %q", e.name, s.Group)
		}
	}
	if names := Registry.Names(); !slices.IsSorted(names) {
		t.Errorf("the registry is not sorted: %v", names)
	}
}
