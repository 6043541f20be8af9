package batch

import (
	"reflect"
	"testing"
)

// filled returns a batch of three responses in which every column is recorded
// with distinct values, by reflection, so that a column Select forgets shows.
func filled() *Batch {
	b := &Batch{Offsets: []int{0, 2, 5, 6}, Layers: 2, TopK: 2, Vocab: 3, LearnerVersion: 7, Step: 5, KVPlanes: 2, KVWords: 2}
	n, rows := b.Tokens(), b.Len()
	perRow := map[string]bool{"Prompt": true, "Group": true, "PromptID": true, "Reward": true, "RewardParts": true,
		"GreedyReward": true, "Correct": true, "Finished": true, "ScoreNorm": true,
		"PromptRoutes": true, "PromptRoutesOld": true, "PromptGates": true, "PromptGatesOld": true}
	v := reflect.ValueOf(b).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.Kind() != reflect.Slice || name == "Offsets" {
			continue
		}
		size := n
		switch {
		case perRow[name]:
			size = rows
		case name == "RoutesRoll" || name == "RoutesOld" || name == "GatesRoll" || name == "GatesOld":
			size = n * b.Layers * b.TopK
		case name == "KVKept":
			size = n * b.KVPlanes * b.KVWords
		case len(name) >= 4 && name[:4] == "Dist":
			size = n * b.Vocab
		}
		f.Set(reflect.MakeSlice(f.Type(), size, size))
		for j := range size {
			e := f.Index(j)
			switch e.Kind() {
			case reflect.Bool:
				e.SetBool(j%2 == 0)
			case reflect.Int, reflect.Int32, reflect.Int64:
				e.SetInt(int64(100*i + j))
			case reflect.Uint8, reflect.Uint64:
				e.SetUint(uint64(j))
			case reflect.Float64, reflect.Float32:
				e.SetFloat(float64(100*i + j))
			case reflect.Slice:
				e.Set(reflect.MakeSlice(e.Type(), 1+j%2, 1+j%2))
			}
		}
	}
	return b
}

func TestSelectCopiesEveryColumn(t *testing.T) {
	b := filled()
	var all, some Batch
	b.Select(&all, []int{0, 1, 2})
	if !reflect.DeepEqual(b, &all) {
		t.Errorf("Select of all rows in order is not a copy:\n got %+v\nwant %+v", all, *b)
	}
	b.Select(&some, []int{2, 0})
	if got, want := some.Offsets, []int{0, 1, 3}; !reflect.DeepEqual(got, want) {
		t.Fatalf("offsets %v, want %v", got, want)
	}
	for k, n := range []int{5, 0, 1} { // tokens of rows 2 and 0, in that order
		if some.Logp[k] != b.Logp[n] || some.Mask[k] != b.Mask[n] || some.DistOld[3*k+2] != b.DistOld[3*n+2] {
			t.Errorf("token %d of the selection is not token %d of the batch", k, n)
		}
		if some.RoutesOld[4*k+3] != b.RoutesOld[4*n+3] {
			t.Errorf("routes of token %d of the selection are not those of token %d", k, n)
		}
	}
	if some.Group[0] != b.Group[2] || some.Reward[1] != b.Reward[0] {
		t.Error("row columns are not in the order of the rows")
	}
}

func TestSelectKeepsUnrecordedColumnsNilAndMemory(t *testing.T) {
	b := &Batch{Offsets: []int{0, 2, 3}, Mask: []bool{true, true, false}, Logp: []float64{1, 2, 3}, Group: []int{0, 0}}
	dst := filled()
	b.Select(dst, []int{1, 0})
	if dst.LossMask != nil || dst.Weight != nil || dst.DistOld != nil || dst.Reward != nil {
		t.Error("a column that was not recorded came out non-nil")
	}
	rows := []int{0, 1}
	if got := testing.AllocsPerRun(20, func() { b.Select(dst, rows) }); got != 0 {
		t.Errorf("Select allocates %v times in steady state", got)
	}
}

func TestRequireNamesTheColumn(t *testing.T) {
	b := &Batch{Offsets: []int{0, 2}, Mask: []bool{true, true}}
	if err := b.Require("Mask"); err != nil {
		t.Error(err)
	}
	if err := b.Require("Mask", "LogpOld"); err == nil {
		t.Error("Require of an unrecorded column passed")
	}
}
