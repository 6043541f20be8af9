package diagnose

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"driftlab/experiments/diagnose/reader"
	runner "driftlab/experiments/run"
	"driftlab/precision/elementary"
	"driftlab/precision/must"
	"driftlab/results/record"
	"driftlab/trainer/recipe"
)

// refit makes the reference set anew: some minutes of one core. What a folder holds of it already is
// taken from there, so that it can be interrupted.
//
//	go test ./experiments/diagnose -run TestRefit -refit DIR
var refit = flag.String("refit", "", "make the reference set of attribution in this folder, then fit it")

// source is a dump of known cause that can be made.
type source struct {
	observation
	make func(t *testing.T) (*Analysis, map[string]float64)
}

// sources are all dumps of the reference set.
func sources() []source {
	var list []source
	for i, c := range Cases {
		for n := range uint64(60) {
			seed := uint64(i)*1000 + n
			list = append(list, source{observation{From: "planted", Case: c.Name, Task: "syllables", Seed: seed}, func(*testing.T) (*Analysis, map[string]float64) {
				rows, shares := c.Draw(seed).Rows()
				a := New(Options{})
				for _, r := range rows {
					a.row(r, "f")
				}
				return a, shares
			}})
		}
	}
	for i, pair := range Pairs {
		for tenths := range uint64(9) {
			for n := range uint64(20) {
				seed := 20_000 + uint64(i)*1000 + tenths*100 + n
				list = append(list, source{observation{From: "planted", Case: pair[0] + "+" + pair[1], Task: mixed, Seed: seed}, func(*testing.T) (*Analysis, map[string]float64) {
					rows, shares := Mixture(pair, float64(tenths+1)/10, seed).Rows()
					return analysed(Options{}, rows), shares
				}})
			}
		}
	}
	return append(list, trained()...)
}

// tasks are the tasks of the runs, as settings of a recipe.
var tasks = map[string][]string{
	"chain":    {"checkpoint=chain-base", "task={name: chain, difficulty: [3, 8]}"},
	"addition": {"checkpoint=addition-base", "task={name: addition, difficulty: [2, 4]}"},
	"lookup":   {"checkpoint=lookup-base", "task={name: lookup, difficulty: [4, 6], calls: [0, 4]}"},
	"search":   {"checkpoint=search-base", "task={name: search, difficulty: [1, 10], operations: 2}", "rollout.max_tokens=96"},
	"dense":    {`checkpoint=""`, "model={layers: 2, d_model: 32, heads: 4, experts: 1, top_k: 1, d_ff: 64, context: 64}", "pretrain={steps: 150, batch: 32}", "task={name: chain, difficulty: [1, 3]}"},
}

// trained are short runs: numerics with routes of their own and with the rollout's (R3), which
// says what of the gap is routing, and old rollouts of equal engines.
func trained() []source {
	var list []source
	seed := uint64(0)
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		for _, rollout := range []string{"fp32-pairwise", "fp32-splitk4", "fp32-tp4", "fp16", "bf16", "bf16-splitk4", "bf16-tp4", "fp8-w8a8", "int8-w8a8", "fp4-w4a16",
			"{base: bf16, router: fp4_e2m1}", "{base: fp32, router: fp8_e4m3}", "{base: fp32, router: fp4_e2m1}", "{base: fp32, router: bf16}"} {
			for range 2 {
				seed++
				at := observation{From: "driftlab", Case: rollout, Task: task, Seed: seed}
				learner := "fp32"
				if strings.HasPrefix(rollout, "bf16-") {
					learner = "bf16" // the order alone
				}
				sets := append(slices.Clone(tasks[task]), "rollout.numerics="+rollout, "learner.numerics="+learner, "steps=4")
				for _, replay := range []string{"none", "r3"} {
					if at.Replay = replay; replay == "r3" && task == "dense" {
						continue
					}
					list = append(list, source{at, run(at, sets, 0)})
				}
			}
		}
		for _, k := range []int{1, 2, 4, 8, 16} {
			for _, rate := range []string{"3e-4", "7e-4", "1.5e-3"} {
				seed++
				at := observation{From: "driftlab", Case: fmt.Sprintf("lag %d at %s", k, rate), Task: task, Seed: seed}
				list = append(list, source{at, run(at, append(slices.Clone(tasks[task]), "schedule={name: lag, k: "+strconv.Itoa(k)+"}", "learner.optimizer.lr="+rate, "steps="+strconv.Itoa(k+6)), k+2)})
			}
		}
		for _, k := range []int{4, 16} {
			for _, rollout := range []string{"bf16", "fp8-w8a8"} {
				seed++
				at := observation{From: "driftlab", Case: fmt.Sprintf("%s; lag %d", rollout, k), Task: task, Seed: seed}
				list = append(list, source{at, run(at, append(slices.Clone(tasks[task]), "schedule={name: lag, k: "+strconv.Itoa(k)+"}", "rollout.numerics="+rollout, "learner.optimizer.lr=7e-4", "steps="+strconv.Itoa(k+6)), k+2)})
			}
		}
	}
	return list
}

// run is a run from whose steps after the given one the dump is taken.
func run(at observation, sets []string, after int) func(t *testing.T) (*Analysis, map[string]float64) {
	return func(t *testing.T) (*Analysis, map[string]float64) {
		late := dumped(t, at, sets, after)
		a := New(Options{})
		text := bytes.Join(late, nil)
		must.Do(t, a.Read(reader.Input{Name: "dump.jsonl", At: bytes.NewReader(text), Size: int64(len(text))}))
		return a, split(t, late)
	}
}

// dumped are the lines of a run's dump after the given step: read from the folder if it has them, else from a new run.
func dumped(t *testing.T, at observation, sets []string, after int) (late [][]byte) {
	kept := filepath.Join(*refit, "dumps", strings.TrimSuffix(fileName(at), ".json")+".jsonl.gz")
	if text, err := os.ReadFile(kept); err == nil {
		z, err := gzip.NewReader(bytes.NewReader(text))
		if err == nil {
			text, err = io.ReadAll(z)
		}
		if err != nil {
			t.Fatal(kept, err)
		}
		return slices.Collect(bytes.Lines(text))
	}
	common := []string{"seed=" + strconv.FormatUint(at.Seed, 10), "eval.every=0", "rollout.prompts=8", "rollout.group=8", "rollout.max_tokens=48"}
	r, err := recipe.Load("headline", append(common, sets...)...)
	if err == nil && at.Replay == "r3" {
		err = r.Set("routing.replay=r3")
	}
	if err != nil {
		t.Fatal(at, err)
	}
	path := filepath.Join(t.TempDir(), "dump.jsonl")
	w := must.Get(record.CreateDump(path))(t)
	if _, err := runner.Run(context.Background(), r, runner.Options{Dump: w}); err != nil {
		t.Fatal(at, err)
	}
	must.Do(t, w.Finish())
	text := must.Get(os.ReadFile(path))(t)
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for line := range bytes.Lines(text) {
		if d := parsed(t, line); d.Step > after {
			late = append(late, line)
			z.Write(line)
		}
	}
	must.Do(t, z.Close())
	must.Do(t, os.MkdirAll(filepath.Dir(kept), 0o777))
	must.Do(t, os.WriteFile(kept, b.Bytes(), 0o666))
	return late
}

func parsed(t *testing.T, line []byte) (d record.DumpLine) {
	must.Do(t, json.Unmarshal(line, &d))
	return d
}

// split is the share of Σk3 that the age of the weights has, and that of the engines.
func split(t *testing.T, lines [][]byte) map[string]float64 {
	engine, age := 0.0, 0.0
	for _, line := range lines {
		d := parsed(t, line)
		for i, roll := range d.LogpRollout {
			behaviour := d.LogpOld[i]
			if d.LogpBehaviour != nil {
				behaviour = d.LogpBehaviour[i]
			}
			if d.Mask[i] && isFinite(roll) && isFinite(behaviour) {
				engine += elementary.Expm1(behaviour-roll) - (behaviour - roll)
				age += elementary.Expm1(d.LogpOld[i]-behaviour) - (d.LogpOld[i] - behaviour)
			}
		}
	}
	if engine+age == 0 {
		return map[string]float64{}
	}
	return map[string]float64{"size": engine, Precision: engine / (engine + age), Staleness: age / (engine + age)}
}

// TestRefit makes what is missing, and writes down what was measured.
func TestRefit(t *testing.T) {
	if *refit == "" {
		t.Skip("-refit is not given")
	}
	var list []observation
	for _, s := range sources() {
		o := s.observation
		path := filepath.Join(*refit, fileName(o))
		if text, err := os.ReadFile(path); err == nil {
			if err := json.Unmarshal(text, &o); err != nil {
				t.Fatal(path, err)
			}
		} else {
			a, shares := s.make(t)
			rows := a.sample.inOrder()
			o.Shares, o.Checks = shares, map[string]float64{}
			o.Features = featuresOf(rows)
			for _, k := range rows {
				o.Tokens += len(k.roll)
			}
			for _, c := range a.judged() {
				if c.scope == everything && c.Result != NotApplicable {
					o.Checks[c.ID] = c.Value
				}
			}
			text, err := json.Marshal(o)
			if err != nil {
				t.Fatal(path, err)
			}
			must.Do(t, os.WriteFile(path, text, 0o666))
		}
		list = append(list, o)
	}
	labelled(list)
	writeObserved(t, list)
	r := fit(t, observed(t))
	text := must.Get(json.MarshalIndent(r, "", " "))(t)
	must.Do(t, os.WriteFile("reference.json", append(text, '\n'), 0o666))
}

// fit is the reference of observations, and how often it is right.
func fit(t *testing.T, list []observation) reference {
	r := must.Get(referenceOf(list))(t)
	r.Accuracy = must.Get(accuracies(list))(t)
	r.Made = fmt.Sprintf("fitted to %d simulated dumps by go test ./experiments/diagnose -run TestRefit -refit DIR", len(list))
	return r
}

// observedFile has what was measured of the reference set, so that fits can be made and judged without it.
const observedFile = "testdata/observed.jsonl.gz"

// writeObserved writes the observations, with as many digits as matter.
func writeObserved(t *testing.T, list []observation) {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	digits := regexp.MustCompile(`-?[0-9]+\.[0-9]{3,}(e-?[0-9]+)?`)
	for _, o := range list {
		text := must.Get(json.Marshal(o))(t)
		text = digits.ReplaceAllFunc(text, func(x []byte) []byte {
			v, _ := strconv.ParseFloat(string(x), 64)
			return strconv.AppendFloat(nil, v, 'g', 5, 64)
		})
		z.Write(append(text, '\n'))
	}
	must.Do(t, z.Close())
	must.Do(t, os.MkdirAll("testdata", 0o777))
	must.Do(t, os.WriteFile(observedFile, b.Bytes(), 0o666))
}

// observed reads them.
func observed(t *testing.T) (list []observation) {
	f := must.Get(os.Open(observedFile))(t)
	defer f.Close()
	z := must.Get(gzip.NewReader(f))(t)
	for d := json.NewDecoder(z); d.More(); {
		var o observation
		must.Do(t, d.Decode(&o))
		list = append(list, o)
	}
	return list
}

// labelled says what of a gap of numerics is routing: what replaying the routes takes away.
func labelled(list []observation) {
	for i, o := range list {
		if o.Replay != "none" {
			continue
		}
		left := 1.0
		if with := list[min(i+1, len(list)-1)]; with.Replay == "r3" && o.Shares["size"] > 0 {
			left = math.Min(1, with.Shares["size"]/o.Shares["size"])
		}
		o.Shares[Precision], o.Shares[Routing] = left, 1-left
	}
}

// fileName is where the folder has an observation.
func fileName(o observation) string {
	return strings.NewReplacer(" ", "", "{", "", "}", "", ":", "-", ",", "-", ";", "-", "+", "-").Replace(fmt.Sprintf("%s_%s_%s_%s_%d.json", o.From, o.Task, o.Case, cmp.Or(o.Replay, "x"), o.Seed))
}

// The shipped figures equal the fit of the shipped observations, to the last digits, and are right as
// often as they say.
func TestReference(t *testing.T) {
	r := fit(t, observed(t))
	got := must.Get(json.Marshal(r))(t)
	want := must.Get(json.Marshal(the))(t)
	if !bytes.Equal(got, want) {
		t.Errorf("the fit is another than reference.json: make it anew with -refit")
	}
	for _, a := range r.Accuracy {
		t.Logf("left out %s: %d of %d right, %d unlike any, %d of %d named rightly", a.Test, a.Right, a.N, a.Unlike, a.NamedRight, a.Named)
	}
	if a := r.Accuracy[0]; a.Right*100 < 80*a.N || a.NamedRight*100 < 97*a.Named || a.Named*10 < a.N {
		t.Errorf("on seeds left out: %+v", a)
	}
	runs, worlds := r.Accuracy[1], r.Accuracy[2]
	n, right, named, rightly := runs.N+worlds.N, runs.Right+worlds.Right, runs.Named+worlds.Named, runs.NamedRight+worlds.NamedRight
	if right*100 < 85*n || rightly*100 < 97*named || named*10 < n {
		t.Errorf("by the other generator: %d of %d right, %d of %d named rightly", right, n, rightly, named)
	}
}
