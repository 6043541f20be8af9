package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"driftlab/experiments/measure"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

var update = flag.Bool("update", false, "write the recordings of the lab")

// folder holds the recordings that the lab shows.
const folder = "../../../results/published/lab"

// pairs are rollout and learner numerics of the recordings.
var pairs = [][2]string{{"bf16", "fp32"}, {"fp8-w8a8", "fp32"}, {"fp4-w4a16", "fp32"}}

// TestRecordingOfAnUpdate: the published recording is what the code gives.
func TestRecordingOfAnUpdate(t *testing.T) {
	var all []*record.Update
	for _, pair := range pairs {
		set := []string{"rollout.numerics=" + pair[0], "learner.numerics=" + pair[1], "rollout.prompts=8", "rollout.max_tokens=32", "loss.eps_high=0.2", "learner.minibatches=4", "eval.every=0"}
		r := must.Get(recipe.Load("default", set...))(t)
		u := must.Get(Follow(context.Background(), r, Request{Step: 1, Tokens: record.UpdateTokens}))(t)
		u.Recipe, u.Set = "default", set
		all = append(all, u)
		t.Logf("%s to %s: outside %.4g merged, %.4g decoupled of %d", u.Rollout, u.Learner, u.OutsideMerged, u.OutsideDecoupled, u.Count)
	}
	published(t, "update.json", all)
}

// TestRecordingOfFlips is the same of the routes.
func TestRecordingOfFlips(t *testing.T) {
	var all []*record.Flips
	for _, pair := range pairs[:2] {
		set := []string{"rollout.numerics=" + pair[0], "learner.numerics=" + pair[1], "rollout.prompts=16", "rollout.max_tokens=32"}
		r := must.Get(recipe.Load("default", set...))(t)
		f := must.Get(measure.Flips(r, record.FlipsResponses, 1))(t)
		f.Recipe, f.Set = "default", set
		all = append(all, f)
		t.Logf("%s to %s: exact KL %.3g free, %.3g ids, %.3g ids and gates of %d; flips %.3g of tokens, %.3g of decisions; %d shown", f.Rollout, f.Learner,
			f.KLFree, f.KLIDs, f.KLIDsGates, f.Count, f.FlippedTokens, f.FlippedDecisions, len(f.Tokens))
	}
	published(t, "flips.json", all)
}

// published compares a recording with the file, or writes it.
func published(t *testing.T, name string, recording any) {
	t.Helper()
	text := must.Get(json.Marshal(recording))(t)
	text = append(bytes.ReplaceAll(text, []byte(`},{"re`), []byte("},\n{\"re")), '\n')
	path := filepath.Join(folder, name)
	if *update {
		must.Do(t, os.MkdirAll(folder, 0o755))
		must.Do(t, os.WriteFile(path, text, 0o644))
	}
	have := must.Get(os.ReadFile(path))(t)
	if !bytes.Equal(have, text) {
		t.Errorf("%s is not what the code gives: go test ./experiments/measure/explain -update writes it", path)
	}
}
