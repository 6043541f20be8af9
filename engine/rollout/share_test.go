package rollout

import (
	"testing"

	"driftlab/engine"
	"driftlab/engine/column"
	"driftlab/model"
)

// A group's prompt is read once in each lane: its other responses begin with
// the row that reads the last token. With numerics that would notice, every
// response reads its own, unless the caller asks for it.
func TestPromptsAreReadOncePerGroup(t *testing.T) {
	c := model.Default()
	c.Vocab = 16
	p := model.New(c)
	p.Init(1)
	const prompts, size, length = 6, 8, 5
	var list []Request
	for g := range int32(prompts) {
		for i := range size {
			list = append(list, Request{Prompt: []int32{g, 1, 2, 3, 4}, Stream: uint64(g)*size + uint64(i)})
		}
	}
	for _, test := range []struct {
		numerics  string
		workers   int
		prefill   Prefill
		retention Retention
		once      bool
	}{
		{"fp32", 1, Prefill{}, Retention{}, true},
		{"fp32", 3, Prefill{}, Retention{}, true},
		{"fp8-w8a8", 2, Prefill{}, Retention{Policy: Window, Keep: 0.5, Recent: 1}, true},
		{"fp32", 1, Prefill{}, Retention{Policy: HeavyHitter, Keep: 0.5, Recent: 1}, false},
		{"fp32-batch-variant", 1, Prefill{}, Retention{}, false},
		{"bf16-flash-decoding", 1, Prefill{}, Retention{}, false},
		{"fp32-batch-variant", 1, Prefill{PrefixCache: true}, Retention{}, true},
	} {
		n, ok := engine.Preset(test.numerics)
		if !ok {
			t.Fatal(test.numerics)
		}
		e := New(c, n, len(list), test.workers)
		e.SetPrefill(test.prefill)
		e.SetRetention(test.retention)
		e.Publish(p, 0)
		e.Generate(&column.Sampled{}, list, Sampling{Temperature: 1, TopP: 1, MaxTokens: 1, Stop: -1})
		// With one token each, the last pass of a lane is the one with its responses
		// but the first of each group.
		lanes, late := []*lane{&e.together}, len(list)-prompts
		if test.workers > 1 {
			lanes = lanes[:0]
			for i := range e.lanes {
				lanes = append(lanes, &e.lanes[i])
			}
		}
		rows, sequences := 0, 0
		for _, l := range lanes {
			rows, sequences = rows+l.pack.Rows(), sequences+l.pack.Sequences()
		}
		if test.once && (rows != late || sequences != late) {
			t.Errorf("%+v: the last passes read %d rows of %d responses, not one of each of %d", test, rows, sequences, late)
		}
		if !test.once && rows != length*len(list) {
			t.Errorf("%+v: the only pass reads %d rows, not %d prompts", test, rows, len(list))
		}
		e.Close()
	}
}
