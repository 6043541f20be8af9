package loss

import (
	"fmt"
	"testing"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// anyMethod is a loss, a KL term or another term, under the name of its kind.
type anyMethod struct {
	name string
	spec method.Spec
	// fresh is a new one; run evaluates it on a batch, alone.
	fresh func() any
	run   func(m any, out *Grad, b *batch.Batch) error
}

// everyMethod has those of the three registries.
func everyMethod() (all []anyMethod) {
	for _, e := range Registry {
		all = append(all, anyMethod{e.Name, e.Spec, func() any { return e.New() }, func(m any, out *Grad, b *batch.Batch) error { return m.(Loss).Eval(out, b) }})
	}
	add := func(m any, out *Grad, b *batch.Batch) error {
		out.Reset(b.Tokens())
		if term, ok := m.(Term); ok {
			if err := Prepare(term, b); err != nil {
				return err
			}
		}
		return m.(adder).AddLoss(out, b)
	}
	for _, e := range KLRegistry {
		all = append(all, anyMethod{"kl " + e.Name, e.Spec, func() any { return e.New() }, add})
	}
	for _, e := range TermRegistry {
		all = append(all, anyMethod{"term " + e.Name, e.Spec, func() any { return e.New() }, add})
	}
	return all
}

// TestEvalAllocatesNothing in steady state, for every loss, KL term and term.
func TestEvalAllocatesNothing(t *testing.T) {
	b, out := nastyBatch(2, true), &Grad{}
	for _, e := range everyMethod() {
		m := e.fresh()
		for range 2 { // let the memory grow
			must(t, e.run(m, out, b))
		}
		if n := testing.AllocsPerRun(5, func() { _ = e.run(m, out, b) }); n != 0 {
			t.Errorf("%s allocates %v times per evaluation", e.name, n)
		}
	}
}

// BenchmarkMethods evaluates losses and terms on 2,048 responses of four tokens on average.
func BenchmarkMethods(b *testing.B) {
	var in batch.Batch
	rows := make([]int, 2048)
	for i := range rows {
		rows[i] = i % 12
	}
	nastyBatch(1, false).Select(&in, rows)
	for i := range in.Group {
		in.Group[i] = i / 8
	}
	out := &Grad{}
	for _, e := range everyMethod() {
		b.Run(fmt.Sprintf("%s/%s", e.spec.Unit, e.name), func(b *testing.B) {
			m := e.fresh()
			b.ReportAllocs()
			for b.Loop() {
				must(b, e.run(m, out, &in))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(in.Tokens()), "ns/token")
		})
	}
}
