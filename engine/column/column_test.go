package column

import (
	"reflect"
	"slices"
	"testing"
)

// three is the shape of responses of 2, 3 and 1 tokens.
func three() *Sampled {
	return &Sampled{Offsets: []int{0, 2, 5, 6}, Layers: 2, TopK: 2, Vocab: 3, KVPlanes: 2, KVWords: 2}
}

// fill records distinct values in every column of a holder, by reflection, so that
// a column that is not in its list shows.
func fill[H any](h *H, columns []column[H], in *Sampled) *H {
	wide := map[string]int{"DistRoll": in.Vocab, "Dist": in.Vocab, "KVKept": in.KVPlanes * in.KVWords}
	for _, name := range []string{"RoutesRoll", "GatesRoll", "Routes", "Gates", "RouterLogp"} {
		wide[name] = in.Layers * in.TopK
	}
	PerResponse := map[string]bool{"Prompt": true, "Group": true, "PromptID": true, "Finished": true, "PromptRoutes": true, "PromptGates": true, "PromptKept": true,
		"CachedTokens": true, "CachedVersion": true}
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.Kind() != reflect.Slice || name == "Offsets" {
			continue
		}
		size := max(wide[name], 1) * in.Tokens()
		if PerResponse[name] {
			size = in.Len()
		}
		f.Set(reflect.MakeSlice(f.Type(), size, size))
		for j := range size {
			switch e := f.Index(j); e.Kind() {
			case reflect.Bool:
				e.SetBool(j%2 == 0)
			case reflect.Int, reflect.Int32, reflect.Int64:
				e.SetInt(int64(100*i + j))
			case reflect.Uint8, reflect.Uint64:
				e.SetUint(uint64(i + j))
			case reflect.Float32, reflect.Float64:
				e.SetFloat(float64(100*i + j))
			case reflect.Slice:
				e.Set(reflect.MakeSlice(e.Type(), 1+j, 1+j))
			}
		}
	}
	return h
}

// All rows in order are a copy, of every column; others stand in the order of the
// rows; and a selection into what held another allocates nothing.
func TestSelect(t *testing.T) {
	in := fill(three(), sampled, three())
	said := fill(&Scored{}, scored, in)
	var all Sampled
	var allSaid Scored
	in.Select(&all, []int{0, 1, 2})
	said.Select(&allSaid, in, []int{0, 1, 2})
	if !reflect.DeepEqual(in, &all) {
		t.Errorf("all rows in order are no copy:\n got %+v\nwant %+v", all, *in)
	}
	if !reflect.DeepEqual(said, &allSaid) {
		t.Errorf("all rows in order are no copy:\n got %+v\nwant %+v", allSaid, *said)
	}
	rows := []int{2, 0}
	in.Select(&all, rows)
	said.Select(&allSaid, in, rows)
	if !reflect.DeepEqual(all.Offsets, []int{0, 1, 3}) || all.Group[0] != in.Group[2] || len(allSaid.PromptGates[1]) != len(said.PromptGates[0]) {
		t.Fatalf("responses %v are %+v and %+v", rows, all, allSaid)
	}
	for k, n := range []int{5, 0, 1} { // tokens of rows 2 and 0, in that order
		if all.Token[k] != in.Token[n] || all.Mask[k] != in.Mask[n] || all.DistRoll[3*k+2] != in.DistRoll[3*n+2] || all.KVKept[4*k+3] != in.KVKept[4*n+3] ||
			allSaid.Logp[k] != said.Logp[n] || allSaid.Dist[3*k+2] != said.Dist[3*n+2] || allSaid.Routes[4*k+3] != said.Routes[4*n+3] {
			t.Errorf("token %d of the selection is not token %d", k, n)
		}
	}
	if got := testing.AllocsPerRun(20, func() { in.Select(&all, rows); said.Select(&allSaid, in, rows) }); got != 0 {
		t.Errorf("a selection allocates %v times", got)
	}
}

// What has not been recorded is nil in a selection, whatever was there.
func TestSelectOfWhatIsNotRecorded(t *testing.T) {
	in := &Sampled{Offsets: []int{0, 2, 3}, Mask: []bool{true, true, false}, Group: []int{0, 0}}
	dst, said := fill(three(), sampled, three()), fill(&Scored{}, scored, three())
	in.Select(dst, []int{1, 0})
	(&Scored{}).Select(said, in, []int{1, 0})
	if want := (&Sampled{Offsets: []int{0, 1, 3}, Mask: []bool{false, true, true}, Group: []int{0, 0}}); !reflect.DeepEqual(dst, want) {
		t.Errorf("selected %+v, want %+v", dst, want)
	}
	if !reflect.DeepEqual(said, &Scored{}) {
		t.Errorf("selected %+v of nothing", said)
	}
}

// Join is the inverse of cutting responses in two; what a part lacks the whole
// lacks.
func TestJoin(t *testing.T) {
	whole := fill(three(), sampled, three())
	parts := []*Sampled{{}, {}}
	whole.Select(parts[0], []int{0, 1})
	whole.Select(parts[1], []int{2})
	var joined Sampled
	for range 2 { // again into the same memory
		Join(&joined, parts)
		if !reflect.DeepEqual(&joined, whole) {
			t.Fatalf("joined %+v, want %+v", joined, whole)
		}
	}
	parts[1].LogpRoll, parts[0].Group, parts[1].Group = nil, nil, nil
	Join(&joined, parts)
	if joined.LogpRoll != nil || len(joined.Token) != 6 || joined.Group != nil {
		t.Errorf("log-probs %v of one part, groups %v of none", joined.LogpRoll, joined.Group)
	}
	Join(&joined, []*Sampled{parts[0], {Offsets: []int{0}}})
	if joined.Len() != 2 || len(joined.LogpRoll) != 5 || joined.DistRoll[5] != whole.DistRoll[5] {
		t.Errorf("with an empty part: %+v", joined)
	}
}

// A gradient's memory is kept and its values are not; entries by logits are
// cleared once for all terms that add to them.
func TestGrad(t *testing.T) {
	var g Grad
	for range 2 {
		g.Reset(2)
		if g.Loss != 0 || !reflect.DeepEqual(g.DLogp, []float64{0, 0}) || len(g.DLogits) != 0 || len(g.Metrics) != 0 {
			t.Fatalf("reset leaves %+v", g)
		}
		g.NeedLogits(2, 3)
		if !reflect.DeepEqual(g.DLogits, make([]float64, 6)) {
			t.Fatalf("gradient by logits %v", g.DLogits)
		}
		g.DLogits[4] = 5
		g.NeedLogits(2, 3)
		if g.DLogits[4] != 5 {
			t.Error("a second term clears the first")
		}
		g.Loss, g.DLogp[1], g.Metrics = 1, 2, append(g.Metrics, Metric{"x", 3})
	}
	if got := testing.AllocsPerRun(20, func() { g.Reset(2); g.NeedLogits(2, 3) }); got != 0 {
		t.Errorf("a reset allocates %v times", got)
	}
}

func TestWhere(t *testing.T) {
	s := Sampled{Offsets: []int{0, 3, 3, 5}}
	mask := []bool{true, false, true, false, true}
	for i, want := range [][]int{{0, 2}, nil, {4}} {
		if got := slices.Collect(s.Where(i, mask)); !slices.Equal(got, want) {
			t.Errorf("response %d: %v, want %v", i, got, want)
		}
	}
	for n := range s.Where(0, mask) {
		if n > 0 {
			t.Error("went on after a break")
		}
		break
	}
	if got := testing.AllocsPerRun(10, func() {
		for range s.Where(0, mask) {
			mask[1] = false
		}
	}); got != 0 {
		t.Errorf("Where allocates %v times", got)
	}
}
