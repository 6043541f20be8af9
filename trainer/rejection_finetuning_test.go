package trainer

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"driftlab/model"
	"driftlab/trainer/method/task"
	"driftlab/trainer/trainertest"
)

// TestRejectionFineTuning keeps right answers only, in the task's template, and trains
// the checkpoint on them; where there are none it says so.
func TestRejectionFineTuning(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	r := trainertest.Recipe(t, "model={}", "checkpoint=chain-base", "task={name: tagged, difficulty: [1, 3]}", "pretrain={steps: 3, batch: 8, rejection: {prompts: 12, samples: 2}}")
	first, p := prepared(t, r)
	k := r.Task.New()
	right, err := reject(context.Background(), first, p, k, Options{})
	if err != nil || len(right) == 0 || len(right) > 24 {
		t.Fatalf("%d answers, %v", len(right), err)
	}
	for _, one := range right {
		if v := k.Verify(one.prompt, one.response); !v.Correct || one.response[0] != task.NewTagged().Template(nil, nil)[0] {
			t.Errorf("kept %s: %v", task.Text(k.Vocab(), one.response), v)
		}
	}
	again, err := reject(context.Background(), first, p, k, Options{Workers: 2})
	if err != nil || !slices.EqualFunc(again, right, func(a, b answer) bool { return slices.Equal(a.response, b.response) }) {
		t.Errorf("another time it keeps others: %v", err)
	}
	made, err := WarmStart(context.Background(), r.Resolved(), Options{})
	if err != nil || slices.Equal(made.Params.Theta, p.Theta) || len(made.Params.Theta) != len(p.Theta) {
		t.Errorf("it did not train: %v", err)
	}
	blank := model.New(p.Config)
	must(t, model.Save(dir, blank, model.Extras{}))
	must(t, r.Set("checkpoint="+dir))
	if _, err := WarmStart(context.Background(), r.Resolved(), Options{}); err == nil || !strings.Contains(err.Error(), "solves none of 12 prompts") {
		t.Errorf("weights of zero: %v", err)
	}
}

// TestFineTuningOnTraces: what is learned are a teacher's right answers, and the weights that
// learn them are the checkpoint's.
func TestFineTuningOnTraces(t *testing.T) {
	made := func(from string) *model.Params {
		r := trainertest.Recipe(t, "model={}", "checkpoint=search-base", "task={name: chain, difficulty: [1, 3]}",
			"pretrain={steps: 3, batch: 8, rejection: {from: "+from+", prompts: 12, samples: 2}}")
		w, err := WarmStart(context.Background(), r.Resolved(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return w.Params
	}
	student, err := model.Open("search-base")
	if err != nil {
		t.Fatal(err)
	}
	learned := made("chain-base")
	if len(learned.Theta) != len(student.Params.Theta) || slices.Equal(learned.Theta, student.Params.Theta) {
		t.Error("the student did not learn")
	}
	if slices.Equal(learned.Theta, made("lookup-base").Theta) {
		t.Error("another teacher's answers teach the same")
	}
	r := trainertest.Recipe(t, "model={}", "checkpoint=search-base", "pretrain={steps: 3, rejection: {from: nowhere}}")
	if _, err := WarmStart(context.Background(), r.Resolved(), Options{}); err == nil || !strings.Contains(err.Error(), "pretrain.rejection.from") {
		t.Errorf("a teacher that is not there: %v", err)
	}
}
