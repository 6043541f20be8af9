package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"driftlab/model/safetensors"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/recipe"
	"driftlab/trainer/trainertest"
)

// variant is a run with a name.
type variant struct {
	name string
	make func(t testing.TB) recipe.Recipe
}

// variants are runs that between them use every part of a session that could
// remember something or depend on the number of workers.
var variants = []variant{
	{"sync", func(t testing.TB) recipe.Recipe { return trainertest.Recipe(t, "steps=8") }},
	{"lag", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "schedule={name: lag, k: 3}", "learner.minibatches=2", "learner.epochs=2",
			"rollout.numerics=bf16-tp4", "learner.numerics=bf16", "routing.replay=r2")
	}},
	{"fp16", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "rollout.numerics=fp8-w8a8", "learner.numerics=fp16", "learner.loss_scale={initial: 16777216, growth_interval: 3}",
			"correction=decoupled_token_is", "correction.masks=[opsm, {name: random_mask, rate: 0.2}]", "learner.minibatches=3", "routing.replay=r3")
	}},
	{"guards", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "rollout.numerics=bf16", "learner.minibatches=5",
			"guards=[ess_lr, {name: length_surge, rule: ratio, factor: 1.01, warmup: 1}, {name: gradient_alignment, low: 0.01, high: 0.05}]")
	}},
	{"drafts", func(t testing.TB) recipe.Recipe {
		r := must.Get(recipe.Load("default", "name=tiny", "steps=8", "task.difficulty=[3, 4]", "rollout.prompts=3", "rollout.group=4", "rollout.max_tokens=24",
			"rollout.speculative={draft: 3, refresh: 5, adaptive: true, numerics: fp4-all, verify: lossy, tau: 0.5, distill: {every: 2}}", "eval={every: 5, prompts: 4}",
			"learner.optimizer.warmup=0"))(t)
		return r
	}},
	{"shadow", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "rollout.kv_retention={policy: heavy_hitter, keep: 0.5, sinks: 1, recent: 2}", "retention.replay=true",
			"terms=[shadow_distillation]", "rollout.numerics=bf16", "learner.minibatches=2")
	}},
	{"critic", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "advantage=gae", "learner.minibatches=2", "terms=[entropy, top_entropy]",
			"kl={name: k1, in: reward, coef: 0.1, controller: {target: 0.01, horizon: 20}}", "correction.mode=bypass")
	}},
	{"trained critic", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "schedule={name: lag, k: 2}", "rollout.group=1", "rollout.prompts=6", "rollout.numerics=bf16", "advantage={name: gae, alpha: 1.5, return_lam: 1, holes: through}", "loss=sao",
			"critic={updates: 2, warmup: 3, confidence: true, optimizer: {lr: 2.5e-3}}")
	}},
	{"fleet", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "rollout.numerics={base: bf16, kv_cache: fp8_e4m3}", "learner.temperature=1.1",
			"rollout.fleet=[{numerics: fp16, share: 0.3}, {numerics: {base: fp32, kv_cache: fp8_e4m3}, share: 0.25}]",
			"rollout.kv_scales={prompts: 2, every: 5, margin: 0.5}", "rollout.noise={start: 1e-2, stages: 4}", "invariant_scale=1.5")
	}},
	{"clock", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "schedule={name: areal, eta: 2}", "rollout.max_tokens=24", "rollout.numerics=bf16")
	}},
	{"fusion", func(t testing.TB) recipe.Recipe {
		return trainertest.Recipe(t, "steps=8", "rollout.numerics=fp4-w4a16", "rollout.fusion={numerics: fp32, alpha: 0.8, until: 7}", "loss=logit_fusion", "rollout.slots=3")
	}},
	{"rewards", func(t testing.TB) recipe.Recipe {
		r := must.Get(recipe.Load("default", "name=tiny", "steps=8", "task.difficulty=[1, 3]", "rollout.prompts=3", "rollout.group=4",
			"rollout.max_tokens=24", "rollout.temperature=1.3", "rollout.numerics=fp4-w4a16", "learner.numerics=bf16", "eval={every: 5, prompts: 4}",
			"reward=[exact, {name: length_anchor, by: prompt_tokens, solved: 0.3, coef: 1}]", "advantage=remax", "kl=exact"))(t)
		return r
	}},
}

// TestVariants checks that each variant has its intended effect: otherwise
// the tests below would prove less than they say.
func TestVariants(t *testing.T) {
	happens := map[string][]string{
		"lag":    {"gap/k3", "routes/flip_token"},
		"fp16":   {"actor/skipped_updates", "gap/k3"},
		"guards": {"guard/length_surge", "guard/grad_removed", "guard/grad_skipped", "actor/skipped_updates"},
		"fleet":  {"gap/unequal", "rollout/noise_sigma"},
		"drafts": {"speculative/law_tv", "speculative/distill_loss", "speculative/drafter_age"},
		"shadow": {"actor/shadow_kl", "gap/k3"},
		"clock":  {"staleness/mixed_responses", "clock/reprefilled_tokens"},
		"fusion": {"rollout/fusion_tv"},
		"critic": {"critic/values/max", "actor/reward_kl_penalty"},

		"trained critic": {"critic/vf_explained_var", "critic/vf_loss", "critic/vf_age", "gap/k3"},
		"rewards":        {"critic/score/min", "actor/kl_loss"},
	}
	for _, v := range variants {
		run, _ := whole(t, v)
		for _, name := range happens[v.name] {
			c := run.Record.Column(name)
			if c == nil || !slices.ContainsFunc(c.Value, func(x float64) bool { return x != 0 }) {
				t.Errorf("%s: %s never differs from 0", v.name, name)
			}
		}
	}
}

// files reads a folder with everything below it.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must.Do(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(data)
		return err
	}))
	return all
}

// sameRun compares two run directories byte for byte.
func sameRun(t testing.TB, label string, want, got map[string]string) {
	t.Helper()
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: has %s", label, name)
		}
	}
	for name, text := range want {
		if got[name] == text {
			continue
		}
		was, now := strings.SplitAfter(text, "\n"), strings.SplitAfter(got[name], "\n")
		i := 0
		for i < min(len(was), len(now)) && was[i] == now[i] {
			i++
		}
		t.Errorf("%s: %s of %d lines differs in line %d of %d", label, name, len(was), i+1, len(now))
	}
}

// wholes are the runs that whole has made.
var wholes = map[string]wholeRun{}

// wholeRun is a run, and the files that it leaves.
type wholeRun struct {
	result *Result
	files  map[string]string
}

// whole is the run of a variant on one core, made once for all tests.
func whole(t *testing.T, v variant) (*Result, map[string]string) {
	t.Helper()
	w, ok := wholes[v.name]
	if !ok {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		dir := filepath.Join(t.TempDir(), "run")
		w = wholeRun{mustRun(t, v.make(t), Options{Dir: dir}), files(t, dir)}
		wholes[v.name] = w
	}
	return w.result, w.files
}

// TestSameBits makes each run on one, two and three workers and cores, and with
// workers that become more on the way; without -exhaustive on three or with more and more.
func TestSameBits(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(cores)
	for i, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			_, want := whole(t, v)
			for n := 2; n <= 4; n++ {
				if !*exhaustive && n != 3+i%2 {
					continue
				}
				runtime.GOMAXPROCS(min(n, 3))
				o := Options{Dir: filepath.Join(t.TempDir(), "run"), Workers: n}
				if n == 4 {
					asked := 0
					o.Workers, o.Cores = 1, func() int { asked++; return 1 + asked/4 }
				}
				dir := o.Dir
				mustRun(t, v.make(t), o)
				sameRun(t, "workers", want, files(t, dir))
			}
			if n := strings.Count(want[record.MetricsFile], "\n"); n != 9 {
				t.Errorf("%d lines on record, want the start and 8 steps", n)
			}
		})
	}
}

// interruptAt makes a run that is cancelled after the given number of steps.
func interruptAt(t *testing.T, r recipe.Recipe, dir string, step int) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if step == 0 {
		cancel()
	}
	result, err := Run(ctx, r, Options{Dir: dir, Progress: func(p trainer.Progress) {
		if p.Step == step {
			cancel()
		}
	}})
	if result != nil || !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), dir) {
		t.Fatalf("cancelled after step %d: %v, %v", step, result, err)
	}
}

// TestResume interrupts one run again and again: it ends as if nothing had happened.
func TestResume(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			r, parts := v.make(t), filepath.Join(t.TempDir(), "parts")
			first, want := whole(t, v)
			stops := []int{0, 1, 2, 5, 7}
			if !*exhaustive {
				stops = []int{0, 5}
			}
			for _, step := range stops {
				interruptAt(t, r, parts, step)
			}
			last := mustRun(t, r, Options{Dir: parts})
			sameRun(t, "resumed", want, files(t, parts))
			if len(last.Record.Columns) != len(first.Record.Columns) || last.Record.Steps != r.Steps {
				t.Errorf("record of %d columns and %d steps, want %d and %d",
					len(last.Record.Columns), last.Record.Steps, len(first.Record.Columns), r.Steps)
			}
			if !*exhaustive && v.name != "sync" && v.name != "clock" {
				return
			}
			memory := mustRun(t, r, Options{})
			if text, _ := json.Marshal(memory.Summary); string(text)+"\n" != want[record.SummaryFile] {
				t.Errorf("in memory the run ends as\n%s, in a directory as\n%s", text, want[record.SummaryFile])
			}
		})
	}
}

// TestKilled takes the directory as a kill would leave it, at any moment.
func TestKilled(t *testing.T) {
	r := trainertest.Recipe(t, "steps=60", "schedule={name: lag, k: 2}", "guards=[gradient_alignment]", "eval={every: 7, prompts: 4}")
	whole := filepath.Join(t.TempDir(), "whole")
	killed := map[int]string{}
	at := []int{1, 24, 25, 26, 49, 60}
	if !*exhaustive {
		at = []int{24, 26, 60}
	}
	for _, step := range at {
		killed[step] = filepath.Join(t.TempDir(), "killed")
	}
	const dump = "tokens.jsonl.gz" // in the folder, so that it is copied with it
	mustRun(t, r, Options{Dir: whole, DumpFile: filepath.Join(whole, dump), Progress: func(p trainer.Progress) {
		if dir, ok := killed[p.Step]; ok {
			must.Do(t, os.CopyFS(dir, os.DirFS(whole)))
		}
	}})
	want := files(t, whole)
	for step, dir := range killed {
		metrics := filepath.Join(dir, record.MetricsFile)
		f := must.Get(os.OpenFile(metrics, os.O_APPEND|os.O_WRONLY, 0))(t)
		must.Get(f.WriteString(`{"step":61,"critic/sco`))(t)
		f.Close()
		begun := 0
		if _, err := Run(context.Background(), r, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "add --dump "+filepath.Join(dir, dump)) {
			t.Errorf("taken up without its dump: %v", err)
		}
		mustRun(t, r, Options{Dir: dir, DumpFile: filepath.Join(dir, dump), Progress: func(p trainer.Progress) {
			if begun == 0 {
				begun = p.Step
			}
		}})
		sameRun(t, "killed", want, files(t, dir))
		if from := step / snapshotEvery * snapshotEvery; begun != min(from, 50)+1 {
			t.Errorf("killed after step %d, taken up at step %d", step, begun)
		}
	}
}

// TestFinished returns a finished run as it is on record.
func TestFinished(t *testing.T) {
	r, dir := trainertest.Recipe(t), filepath.Join(t.TempDir(), "run")
	first := mustRun(t, r, Options{Dir: dir})
	before := files(t, dir)
	again := mustRun(t, r, Options{Dir: dir, Progress: func(trainer.Progress) { t.Error("a finished run was run again") }})
	sameRun(t, "again", before, files(t, dir))
	a, _ := json.Marshal(first.Summary)
	b, _ := json.Marshal(again.Summary)
	if !bytes.Equal(a, b) || again.Record.Steps != r.Steps {
		t.Errorf("summary\n%s, then\n%s", a, b)
	}
	if first.Digest() != again.Digest() {
		t.Error("read back it has another digest")
	}
	r.Seed++
	if other := mustRun(t, r, Options{}); other.Digest() == first.Digest() {
		t.Error("another seed has the same digest")
	}
	for i, x := range first.Params.Theta {
		if again.Params.Theta[i] != x {
			t.Fatalf("weight %d is %v, then %v", i, x, again.Params.Theta[i])
		}
	}
}

// TestOtherRecipe refuses to mix two recipes in one directory, finished or not.
func TestOtherRecipe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	interruptAt(t, trainertest.Recipe(t), dir, 2)
	// Another model too: its state could not be read.
	for _, other := range []string{"learner.optimizer.lr=1e-3", "model.d_model=8"} {
		before := files(t, dir)
		_, err := Run(context.Background(), trainertest.Recipe(t, other), Options{Dir: dir})
		var folder *record.FolderError
		if !errors.As(err, &folder) || !strings.Contains(err.Error(), record.RecipeFile+":") {
			t.Errorf("unfinished, %s: %v", other, err)
		}
		sameRun(t, "refused", before, files(t, dir))
	}
	mustRun(t, trainertest.Recipe(t), Options{Dir: dir})
	if _, err := Run(context.Background(), trainertest.Recipe(t, "seed=8"), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "seed: 8") {
		t.Errorf("finished: %v", err)
	}
}

// TestDamagedState flips a bit anywhere in a snapshot, cuts it, or takes up one
// of another recipe: it is refused, in one line that names the file.
func TestDamagedState(t *testing.T) {
	r := trainertest.Recipe(t, "guards=[gradient_alignment]", "schedule={name: lag, k: 2}")
	dir := filepath.Join(t.TempDir(), "run")
	interruptAt(t, r, dir, 2)
	path := filepath.Join(dir, record.StateFile)
	whole := must.Get(os.ReadFile(path))(t)
	refused := func(what string, data []byte) {
		t.Helper()
		must.Do(t, os.WriteFile(path, data, 0o644))
		_, err := Run(context.Background(), r, Options{Dir: dir})
		var folder *record.FolderError
		if !errors.As(err, &folder) || !strings.HasPrefix(err.Error(), path+": ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("empty", nil)
	refused("cut", whole[:len(whole)/2])
	refused("a byte lost", whole[:len(whole)-1])
	for i := 0; i < len(whole); i += 1 + len(whole)/40 {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 1
		refused(fmt.Sprintf("a bit of byte %d of %d", i, len(whole)), flipped)
	}
	// What is whole may still be of another schedule, or lack a part.
	file := must.Get(safetensors.Parse(whole))(t)
	for what, change := range map[string]func(name *string, meta map[string]string){
		"metadata": func(_ *string, meta map[string]string) { delete(meta, "driftlab") },
		"versions": func(_ *string, meta map[string]string) {
			meta["driftlab"] = strings.Replace(meta["driftlab"], `"oldest":0`, `"oldest":1`, 1)
		},
		"tensor": func(name *string, _ map[string]string) {
			*name = strings.Replace(*name, "adamw.first", "adamw.fisrt", 1)
		},
		"guard": func(name *string, _ map[string]string) { *name = strings.Replace(*name, "guards[0]", "guards[1]", 1) },
	} {
		meta := maps.Clone(file.Metadata)
		var tensors []safetensors.Tensor
		for _, x := range file.Tensors[:len(file.Tensors)-1] { // the last is the checksum
			change(&x.Name, meta)
			tensors = append(tensors, x)
		}
		var b bytes.Buffer
		must.Do(t, safetensors.WriteChecked(&b, tensors, meta))
		if bytes.Equal(b.Bytes(), whole) {
			t.Fatalf("%s: nothing was changed", what)
		}
		refused(what, b.Bytes())
	}
	must.Do(t, os.WriteFile(path, whole, 0o644))
	mustRun(t, r, Options{Dir: dir})
}
