package tables

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

	"driftlab/experiments/run"
	"driftlab/precision/must"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats"
)

var (
	exhaustive = flag.Bool("exhaustive", false, "all recorded runs that a real engine scored, with the runs next to them, as in nightly tests")
	recordings = flag.String("recordings", "", "with -update-reality: the folder of the runs that a real engine scored, TASK-ENGINE-SEED/scored.jsonl each")
)

const (
	trainingFile = "../../../results/published/reality/training.json"
	trainingPage = "../../../results/published/reality/training.md"
	recorded     = "../../../testdata/real/training/%s-%s-%d.jsonl.gz"
)

// The published comparison of runs that llama.cpp scored is what the recordings give, and the page has its
// tables. Recordings of the first seed are kept; one of them is replayed here.
func TestPublishedRealTraining(t *testing.T) {
	if *recordings != "" && *updateReality {
		updateTraining(t)
	}
	text := must.Get(os.ReadFile(trainingFile))(t)
	var all []*realTraining
	must.Do(t, json.Unmarshal(text, &all))
	page := must.Get(os.ReadFile(trainingPage))(t)
	for _, table := range realTrainingTables(all) {
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
		scorer := must.Get(run.Recorded(name, kept))(t)
		var again *realTraining
		if *exhaustive {
			again, err = compareTraining(context.Background(), published.Engine, task, published.Seed, scorer)
		} else {
			r, fault := realRecipe(published.Engine, task, published.Seed)
			if fault != nil {
				t.Fatal(fault)
			}
			again = &realTraining{Engine: published.Engine, Checkpoint: published.Checkpoint, Seed: published.Seed, Arms: published.Arms}
			_, err = again.sameState(context.Background(), r, scorer)
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
	var all []*realTraining
	for _, task := range []string{"chain", "lookup"} {
		for _, engine := range []string{"llama-q8_0", "llama-q4_0"} {
			for seed := uint64(1); ; seed++ {
				name := filepath.Join(*recordings, fmt.Sprintf("%s-%s-%d", task, strings.TrimPrefix(engine, "llama-"), seed), record.ScoredFile)
				text, err := os.ReadFile(name)
				if err != nil {
					break
				}
				scorer := must.Get(run.Recorded(name, text))(t)
				compared := must.Get(compareTraining(context.Background(), engine, task, seed, scorer))(t)
				all = append(all, compared)
			}
		}
	}
	document := must.Get(record.Document(all))(t)
	must.Do(t, os.WriteFile(trainingFile, document, 0o644))
	for _, table := range realTrainingTables(all) {
		t.Log("\n" + table.Markdown())
	}
}

// realTrainingTables set runs that a real engine scored next to those that its emulation scored: what both engines
// say at the same weights, and where the runs end.
func realTrainingTables(all []*realTraining) []*figure.Figure {
	same := &figure.Figure{Kind: figure.Table, Title: "At the same weights and tokens, all steps of the runs that the real engine scored",
		Columns: columnsOf("engine", "checkpoint", "seeds", "tokens", "k3 real", "k3 emulated", "least correlation", "mean weight", "truncated", "unequal weights", "largest difference"),
		Note: "k3: estimate of KL(rollout || learner) from the sampled tokens. Correlation: of the two log-prob differences to the learner, token by token; the least of all seeds. " +
			"Weight: min(exp(old - mu), 2). Unequal: weights that the emulated log-prob changes by more than 0.001."}
	ends := &figure.Figure{Kind: figure.Table, Title: "The runs",
		Columns: columnsOf("engine", "checkpoint", "seeds", "reward, no correction", "TIS emulated - none (95 % CI)", "TIS real - none (95 % CI)", "TIS real - TIS emulated (95 % CI)",
			"same responses to the end: real", "nudged", "median distance: real", "nudged", "none"),
		Note: "Reward: mean over all steps. Differences: paired by seed, Student's t. Same responses to the end: runs that sample in every step what the emulated run samples. " +
			"Nudged: the emulated log-probs, each changed by one part in ten million. Distance: of the final weights from those of the emulated run."}
	for at := 0; at < len(all); {
		end := at
		for end < len(all) && all[end].Engine == all[at].Engine && all[end].Checkpoint == all[at].Checkpoint {
			end++
		}
		group := all[at:end]
		at = end
		first := group[0]
		tokens, truncated, unequal, largest, least := 0, 0, 0, 0.0, 1.0
		var k3Real, k3Emulated, weight float64
		scores, distances, kept := map[string][]float64{}, map[string][]float64{}, map[string]int{}
		for _, t := range group {
			n := float64(t.Tokens)
			tokens, truncated, unequal = tokens+t.Tokens, truncated+t.Truncated, unequal+t.Unequal
			k3Real, k3Emulated, weight = k3Real+float64(n*t.K3Real), k3Emulated+float64(n*t.K3Emulated), weight+float64(n*t.WeightReal)
			largest, least = max(largest, t.WeightLargest), min(least, t.Correlation)
			for _, a := range t.Arms {
				scores[a.Name], distances[a.Name] = append(scores[a.Name], a.Score), append(distances[a.Name], a.Distance)
				if a.Parted == 0 {
					kept[a.Name]++
				}
			}
		}
		n := float64(tokens)
		name, checkpoint, seeds := figure.Word(first.Engine).As(figure.Strong), figure.Word(first.Checkpoint), figure.Word(fmt.Sprint(len(group)))
		same.Add(name, checkpoint, seeds, figure.Word(fmt.Sprint(tokens)), figure.Number(k3Real/n, 3), figure.Number(k3Emulated/n, 3), figure.Word(fmt.Sprintf("%.6f", least)),
			figure.Word(fmt.Sprintf("%.4f", weight/n)), figure.Word(fmt.Sprint(truncated)), figure.Word(fmt.Sprint(unequal)), figure.Number(largest, 2))
		difference := func(a, b string) figure.Cell {
			return withInterval(stats.T(stats.Differences(scores[a], scores[b])), 3)
		}
		of := func(arm string) figure.Cell { return figure.Word(fmt.Sprintf("%d of %d", kept[arm], len(group))) }
		ends.Add(name, checkpoint, seeds, figure.Number(stats.Average(scores["none"]), 3), difference("emulated", "none"), difference("real", "none"), difference("real", "emulated"),
			of("real"), of("nudged"), figure.Number(stats.Median(distances["real"]), 2), figure.Number(stats.Median(distances["nudged"]), 2), figure.Number(stats.Median(distances["none"]), 2))
	}
	return []*figure.Figure{same, ends}
}

// columnsOf are columns whose first two are words and all others figures.
func columnsOf(names ...string) (list []figure.Column) {
	for i, name := range names {
		c := figure.Column{Name: name}
		if i >= 2 {
			c.Align = figure.Right
		}
		list = append(list, c)
	}
	return list
}
