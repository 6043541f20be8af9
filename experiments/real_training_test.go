package experiments_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"driftlab/experiments"
	"driftlab/experiments/measure"
	"driftlab/experiments/run"
	"driftlab/results/record"
)

var (
	exhaustive = flag.Bool("exhaustive", false, "all recorded runs that a real engine scored, with the runs next to them, as in nightly tests")
	recordings = flag.String("recordings", "", "with -update-reality: the folder of the runs that a real engine scored, TASK-ENGINE-SEED/scored.jsonl each")
)

const (
	trainingFile = "../results/published/reality/training.json"
	trainingPage = "../results/published/reality/training.md"
	recorded     = "../testdata/real/training/%s-%s-%d.jsonl.gz"
)

// The published comparison of runs that llama.cpp scored is what the recordings give, and the page has its
// tables. Recordings of the first seed are kept; one of them is replayed here.
func TestPublishedRealTraining(t *testing.T) {
	if *recordings != "" && *updateReality {
		updateTraining(t)
	}
	text, err := os.ReadFile(trainingFile)
	if err != nil {
		t.Fatal(err)
	}
	var all []*measure.RealTraining
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(trainingPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range experiments.RealTrainingTables(all) {
		if !strings.Contains(string(page), strings.TrimSpace(table.Markdown())) {
			t.Errorf("%s does not have this table:\n%s", trainingPage, table.Markdown())
		}
	}
	replayed := 0
	for _, published := range all {
		task := strings.TrimSuffix(published.Checkpoint, "-base")
		name := fmt.Sprintf(recorded, task, published.Engine, published.Seed)
		kept, err := os.ReadFile(name)
		if err != nil || replayed > 0 && !*exhaustive {
			continue // not kept for every seed
		}
		replayed++
		scorer, err := run.Recorded(name, kept)
		if err != nil {
			t.Fatal(err)
		}
		var again *measure.RealTraining
		if *exhaustive {
			again, err = measure.CompareTraining(context.Background(), published.Engine, task, published.Seed, scorer)
		} else {
			r, fault := measure.RealRecipe(published.Engine, task, published.Seed)
			if fault != nil {
				t.Fatal(fault)
			}
			again = &measure.RealTraining{Engine: published.Engine, Checkpoint: published.Checkpoint, Seed: published.Seed, Arms: published.Arms}
			err = again.SameState(context.Background(), r, scorer)
		}
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(again, published) {
			t.Errorf("%s gives\n%+v\npublished is\n%+v", name, again, published)
		}
	}
	if replayed == 0 {
		t.Error("no recording is kept")
	}
}

// updateTraining computes the published data again from the folders of the real runs.
func updateTraining(t *testing.T) {
	var all []*measure.RealTraining
	for _, task := range []string{"chain", "lookup"} {
		for _, engine := range []string{"llama-q8_0", "llama-q4_0"} {
			for seed := uint64(1); ; seed++ {
				name := filepath.Join(*recordings, fmt.Sprintf("%s-%s-%d", task, strings.TrimPrefix(engine, "llama-"), seed), record.ScoredFile)
				text, err := os.ReadFile(name)
				if err != nil {
					break
				}
				scorer, err := run.Recorded(name, text)
				if err != nil {
					t.Fatal(err)
				}
				compared, err := measure.CompareTraining(context.Background(), engine, task, seed, scorer)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, compared)
			}
		}
	}
	document, err := record.Document(all)
	if err == nil {
		err = os.WriteFile(trainingFile, document, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range experiments.RealTrainingTables(all) {
		t.Log("\n" + table.Markdown())
	}
}
