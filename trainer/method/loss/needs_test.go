package loss

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/trainer/method"
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
// names; what a run names elsewhere, a teacher, has none.
func TestConditionsNameParameters(t *testing.T) {
	check := func(spec method.Spec, params any) {
		for _, c := range spec.May {
			name, _, _ := strings.Cut(c.When, " ")
			known := slices.ContainsFunc(reflect.VisibleFields(reflect.TypeOf(params).Elem()), func(f reflect.StructField) bool { return f.Tag.Get("yaml") == name })
			if !known && spec.Name != "ref_kl" {
				t.Errorf("%s reads %s: it has no parameter %q", spec.Name, c.Column, name)
			}
		}
	}
	for _, e := range Registry {
		check(e.Spec, e.New())
	}
	for _, e := range KLRegistry {
		check(e.Spec, e.New())
	}
}

// TestNeedsAreComplete: a run records what Needs names, so that must be enough,
// for the defaults and for every variant.
func TestNeedsAreComplete(t *testing.T) {
	byType := map[reflect.Type]batch.Columns{}
	for _, e := range Registry {
		if err := e.New().Eval(&Grad{}, stripped(e.Needs, e.May.Columns(), e.Shows)); err != nil {
			t.Errorf("%s needs more than its Needs: %v", e.Name, err)
		}
		kind := reflect.TypeOf(e.New())
		byType[kind] = slices.Concat(byType[kind], e.Needs, e.May.Columns(), e.Shows)
	}
	for _, v := range variants {
		if err := v.loss().Eval(&Grad{}, stripped(byType[reflect.TypeOf(v.loss())])); err != nil {
			t.Errorf("%s needs more than its Needs: %v", v.name, err)
		}
	}
	for _, e := range KLRegistry {
		out := &Grad{}
		b := stripped(e.Needs, e.May.Columns(), e.Shows)
		out.Reset(b.Tokens())
		if err := e.New().AddLoss(out, b); err != nil {
			t.Errorf("kl %s needs more than its Needs: %v", e.Name, err)
		}
	}
	for _, e := range TermRegistry {
		out := &Grad{}
		b := stripped(e.Needs, e.May.Columns(), e.Shows)
		out.Reset(b.Tokens())
		if err := Prepare(e.New(), b); err != nil {
			t.Errorf("term %s needs more than its Needs: %v", e.Name, err)
		}
		if err := e.New().AddLoss(out, b); err != nil {
			t.Errorf("term %s needs more than its Needs: %v", e.Name, err)
		}
	}
}
