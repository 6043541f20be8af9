package metrics

import "testing"

// Names of other trainers are found like those of a record, and none hides one of ours.
func TestElsewhere(t *testing.T) {
	for _, want := range Elsewhere {
		got, ok := Lookup(want.Name)
		if !ok || want.Formula == "" || want.Source == "" {
			t.Errorf("%+v", want)
		}
		if got != want && got.Source != want.Source {
			t.Errorf("%s is %s's here and %s's elsewhere", want.Name, got.Source, want.Source)
		}
	}
	if _, ok := Lookup("gen_kl"); ok {
		t.Error("half a name is found")
	}
}
