package loss

import (
	"reflect"
	"strings"
	"testing"
	"unicode"

	"driftlab/trainer/batch"
)

// columnsIn lists the column names in the Needs of a Spec, conditions aside.
func columnsIn(needs []string) map[string]bool {
	columns := map[string]bool{}
	for _, need := range needs {
		for _, word := range strings.FieldsFunc(need, func(c rune) bool { return !unicode.IsLetter(c) }) {
			columns[word] = true
		}
	}
	return columns
}

// stripped is a batch that has recorded nothing but the columns of the list,
// with Mask and Logp.
func stripped(columns map[string]bool) *batch.Batch {
	full := nastyBatch(2, false)
	b := &batch.Batch{Offsets: full.Offsets, Vocab: full.Vocab, LearnerVersion: full.LearnerVersion}
	from, to := reflect.ValueOf(full).Elem(), reflect.ValueOf(b).Elem()
	for i := range from.NumField() {
		if name := from.Type().Field(i).Name; columns[name] || name == "Mask" || name == "Logp" {
			to.Field(i).Set(from.Field(i))
		}
	}
	return b
}

// TestNeedsAreComplete: a run records what Needs names, so that must be enough,
// for the defaults and for every variant.
func TestNeedsAreComplete(t *testing.T) {
	byType := map[reflect.Type]map[string]bool{}
	for _, e := range Registry {
		columns := columnsIn(e.Needs)
		if err := e.New().Eval(&Grad{}, stripped(columns)); err != nil {
			t.Errorf("%s needs more than its Needs: %v", e.Name, err)
		}
		kind := reflect.TypeOf(e.New())
		if byType[kind] == nil {
			byType[kind] = map[string]bool{}
		}
		for c := range columns {
			byType[kind][c] = true
		}
	}
	for _, v := range variants {
		if err := v.loss().Eval(&Grad{}, stripped(byType[reflect.TypeOf(v.loss())])); err != nil {
			t.Errorf("%s needs more than its Needs: %v", v.name, err)
		}
	}
	for _, e := range KLRegistry {
		out := &Grad{}
		b := stripped(columnsIn(e.Needs))
		out.Reset(b.Tokens())
		if err := e.New().AddLoss(out, b); err != nil {
			t.Errorf("kl %s needs more than its Needs: %v", e.Name, err)
		}
	}
	for _, e := range TermRegistry {
		out := &Grad{}
		b := stripped(columnsIn(e.Needs))
		out.Reset(b.Tokens())
		if err := e.New().Prepare(b); err != nil {
			t.Errorf("term %s needs more than its Needs: %v", e.Name, err)
		}
		if err := e.New().AddLoss(out, b); err != nil {
			t.Errorf("term %s needs more than its Needs: %v", e.Name, err)
		}
	}
}
