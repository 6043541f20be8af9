package batch

import (
	"reflect"
	"strings"
	"testing"
)

// filled is a batch of three responses in which every graded and corrected column
// is recorded with distinct values, by reflection, so that one that Select forgets
// shows. What the engines fill is tested with their columns.
func filled() *Batch {
	b := &Batch{Sampled: Sampled{Offsets: []int{0, 2, 5, 6}, LogpRoll: []float64{1, 2, 3, 4, 5, 6}}, Step: 5, LearnerVersion: 7}
	for k, s := range []*Scored{&b.Old, &b.Behaviour, &b.Ref, &b.Teacher, &b.Now, &b.Shadow} {
		for n := range b.Tokens() {
			s.Logp = append(s.Logp, float64(10*k+n))
		}
	}
	perRow := map[string]bool{"Reward": true, "RewardParts": true, "OutcomeParts": true, "GreedyReward": true, "Correct": true, "ScoreNorm": true}
	for _, part := range []any{&b.Graded, &b.Corrected} {
		v := reflect.ValueOf(part).Elem()
		for i := range v.NumField() {
			size := b.Tokens()
			if perRow[v.Type().Field(i).Name] {
				size = b.Len()
			}
			f := v.Field(i)
			f.Set(reflect.MakeSlice(f.Type(), size, size))
			for j := range size {
				switch e := f.Index(j); e.Kind() {
				case reflect.Bool:
					e.SetBool(j%2 == 0)
				case reflect.Float64:
					e.SetFloat(float64(100*i + j))
				case reflect.Slice:
					e.Set(reflect.MakeSlice(e.Type(), 1+j, 1+j))
				}
			}
		}
	}
	return b
}

func TestSelect(t *testing.T) {
	b := filled()
	var dst Batch
	b.Select(&dst, []int{0, 1, 2})
	if !reflect.DeepEqual(b, &dst) {
		t.Errorf("all rows in order are no copy:\n got %+v\nwant %+v", dst, *b)
	}
	rows := []int{2, 0}
	b.Select(&dst, rows)
	for k, n := range []int{5, 0, 1} { // tokens of rows 2 and 0, in that order
		if dst.Now.Logp[k] != b.Now.Logp[n] || dst.Advantage[k] != b.Advantage[n] || dst.BatchGate[k] != b.BatchGate[n] {
			t.Errorf("token %d of the selection is not token %d of the batch", k, n)
		}
	}
	if dst.Reward[0] != b.Reward[2] || dst.Reward[1] != b.Reward[0] {
		t.Error("row columns are not in the order of the rows")
	}
	if got := testing.AllocsPerRun(20, func() { b.Select(&dst, rows) }); got != 0 {
		t.Errorf("Select allocates %v times in steady state", got)
	}
	(&Batch{Sampled: Sampled{Offsets: b.Offsets}}).Select(&dst, rows)
	if dst.LossMask != nil || dst.Weight != nil || dst.Old.Logp != nil || dst.Reward != nil {
		t.Error("a column that was not recorded came out non-nil")
	}
}

// Every named column can be required and forgotten, and says its name.
func TestRequireAndForget(t *testing.T) {
	b := filled()
	if err := b.Require(LogpRoll, LogpOld, Logp, Anchor, Reward, Return); err != nil {
		t.Error(err)
	}
	for c := Token; c <= Anchor; c++ {
		b.Forget(c)
		b.Layers, b.TopK, b.Vocab = 1, 1, 1
		if err := b.Require(c); err == nil || !strings.Contains(err.Error(), c.String()+" ") {
			t.Errorf("%s was forgotten: %v", c, err)
		}
	}
	if got := testing.AllocsPerRun(20, func() { _ = filled0.Require(LogpOld, Advantage) }); got != 0 {
		t.Errorf("Require allocates %v times", got)
	}
}

var filled0 = filled()

// Groups of any sizes are found wherever their responses stand.
func TestGroups(t *testing.T) {
	var g Groups
	for _, c := range []struct {
		group []int
		want  [][]int
	}{
		{[]int{0, 0, 1, 1}, [][]int{{0, 1}, {2, 3}}},
		{[]int{7, 2, 7, 7, 0, 2}, [][]int{{0, 2, 3}, {1, 5}, {4}}},
		{nil, nil},
		{[]int{3}, [][]int{{0}}},
	} {
		g.Find(c.group)
		var got [][]int
		for k := range g.Len() {
			got = append(got, g.Rows(k))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("groups of %v are %v, want %v", c.group, got, c.want)
		}
	}
	group := []int{7, 2, 7, 7, 0, 2}
	if got := testing.AllocsPerRun(20, func() { g.Find(group) }); got != 0 {
		t.Errorf("Find allocates %v times in steady state", got)
	}
}
