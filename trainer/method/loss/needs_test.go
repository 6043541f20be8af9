package loss

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method/batch"
)

// stripped is a batch that has recorded nothing but the columns that a method
// reads, under some parameters at least, with Mask and Logp.
func stripped(needs ...batch.Columns) *batch.Batch {
	kept := append(slices.Concat(needs...), batch.Mask, batch.Logp)
	b := nastyBatch(2, false)
	for c := batch.Token; c <= batch.Anchor; c++ {
		if !slices.Contains(kept, c) {
			b.Forget(c)
		}
	}
	return b
}

// TestConditionsNameParameters: conditions of what is read name the parameters by their
// names; what a run names elsewhere, as a teacher, has none.
func TestConditionsNameParameters(t *testing.T) {
	for _, e := range everyMethod() {
		for _, c := range e.spec.May {
			name, _, _ := strings.Cut(c.When, " ")
			known := slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(e.fresh()).Elem()), func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
			if !known && e.name != "ref_kl" && !strings.HasPrefix(e.name, "term ") {
				t.Errorf("%s reads %s: it has no parameter %q", e.name, c.Column, name)
			}
		}
	}
}

// TestNeedsAreComplete: a run records what Needs names, so that must be enough,
// for the defaults and for every variant.
func TestNeedsAreComplete(t *testing.T) {
	byType := map[reflect.Type]batch.Columns{}
	for _, e := range everyMethod() {
		needs := slices.Concat(e.spec.Needs, e.spec.May.Columns(), e.spec.Shows)
		if err := e.run(e.fresh(), &Grad{}, stripped(needs)); err != nil {
			t.Errorf("%s needs more than its Needs: %v", e.name, err)
		}
		kind := reflect.TypeOf(e.fresh())
		byType[kind] = append(byType[kind], needs...)
	}
	for _, v := range variants {
		if err := v.loss().Eval(&Grad{}, stripped(byType[reflect.TypeOf(v.loss())])); err != nil {
			t.Errorf("%s needs more than its Needs: %v", v.name, err)
		}
	}
}
