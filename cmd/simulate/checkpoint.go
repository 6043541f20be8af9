package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"driftlab/model"
	"driftlab/model/gguf"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stats/passk"
	"driftlab/trainer"
	"driftlab/trainer/method"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

type checkpointCmd struct {
	List   checkpointListCmd   `cmd:"" help:"List the checkpoints inside the binary."`
	Export checkpointExportCmd `cmd:"" help:"Write a checkpoint to a folder, in the layout of Hugging Face or as a GGUF file."`
}

func (*checkpointCmd) Help() string {
	return `Lists or exports the base checkpoints inside the binary. They are small models to start training from.

Examples:
  simulate checkpoint list
  simulate checkpoint export chain-base ./chain-base
  simulate checkpoint export chain-base ./gguf --format gguf --type q8_0   # for llama.cpp`
}

type checkpointListCmd struct{ jsonFlag }

// checkpointInfo describes a shipped checkpoint.
type checkpointInfo struct {
	Name       string            `json:"name"`
	Parameters int               `json:"parameters"`
	Config     model.Config      `json:"config"`
	Notes      map[string]string `json:"notes"`
}

// Run lists the checkpoints.
func (c *checkpointListCmd) Run(a *app) error {
	infos := []checkpointInfo{}
	t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "checkpoint"}, {Name: "parameters", Align: figure.Right},
		{Name: "layers", Align: figure.Right}, {Name: "width", Align: figure.Right}, {Name: "experts"}, {Name: "vocabulary", Align: figure.Right}, {Name: "context", Align: figure.Right}}}
	for _, name := range model.Shipped() {
		ck, err := model.Open(name)
		if err != nil {
			return err
		}
		m := ck.Params.Config
		infos = append(infos, checkpointInfo{name, m.Params(), m, ck.Notes})
		experts := "dense"
		if !m.Dense() {
			experts = fmt.Sprintf("%d, top %d", m.Experts, m.TopK)
		}
		t.Add(figure.Word(name).As(figure.Strong), figure.Word(fmt.Sprint(m.Params())), figure.Word(fmt.Sprint(m.Layers)),
			figure.Word(fmt.Sprint(m.DModel)), figure.Word(experts), figure.Word(fmt.Sprint(m.Vocab)), figure.Word(fmt.Sprint(m.Context)))
	}
	if c.JSON {
		return a.printJSON(infos)
	}
	a.printTable(t)
	return nil
}

type checkpointExportCmd struct {
	Name     string  `arg:"" complete:"checkpoints" help:"The checkpoint's name, or a checkpoint folder."`
	Dir      string  `arg:"" help:"The folder to write; it must be new or empty."`
	Format   string  `help:"hf: config.json, safetensors and tokenizer, as Hugging Face has them; gguf: one file that llama.cpp loads." enum:"hf,gguf" default:"hf" placeholder:"hf|gguf"`
	Type     string  `help:"Type of the matrices of a GGUF file: f32, f16, bf16, q8_0 or q4_0." enum:"f32,f16,bf16,q8_0,q4_0" default:"f32" placeholder:"TYPE"`
	Outliers float32 `help:"Multiply one of 16 activation channels by this power of two, and divide the weights that read it: the same function with outlier channels." default:"0" placeholder:"FACTOR"`
	jsonFlag
}

// Run writes a checkpoint's files.
func (c *checkpointExportCmd) Run(a *app) error {
	if !slices.Contains(model.Shipped(), c.Name) && !strings.ContainsAny(c.Name, `/\`) {
		if _, err := os.Stat(c.Name); err != nil {
			return badInput{fmt.Errorf("checkpoint: %w", method.UnknownName(c.Name, model.Shipped()))}
		}
	}
	ck, err := model.Open(c.Name)
	if err != nil {
		return badInput{err}
	}
	if c.Outliers != 0 {
		if fraction, _ := math.Frexp(float64(c.Outliers)); fraction != 0.5 || c.Outliers > 1<<20 || c.Outliers < 1 {
			return bad("--outliers: %g is not a power of two from 1 to 2^20", c.Outliers)
		}
		ck.Params.AddOutliers(model.OutlierChannels(ck.Params.Config.DModel), c.Outliers)
		ck.Notes = maps.Clone(ck.Notes)
		if ck.Notes == nil {
			ck.Notes = map[string]string{}
		}
		ck.Notes["outliers"] = fmt.Sprint(c.Outliers)
	}
	files, err := c.files(ck)
	if err != nil {
		return err
	}
	if err := emptyFolder(c.Dir); err != nil {
		return err
	}
	written := slices.Sorted(maps.Keys(files))
	for _, name := range written {
		if err := writeFile(c.Dir, name, files[name]); err != nil {
			return err
		}
	}
	if c.JSON {
		return a.printJSON(struct {
			Name  string   `json:"name"`
			Dir   string   `json:"dir"`
			Files []string `json:"files"`
		}{c.Name, c.Dir, written})
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", c.Dir, strings.Join(written, ", "))
	return nil
}

// files are those of the format, by name.
func (c *checkpointExportCmd) files(ck *model.Checkpoint) (map[string][]byte, error) {
	kind, err := gguf.ParseType(c.Type)
	if err != nil {
		return nil, bad("--type: %v", err)
	}
	if c.Format == "gguf" {
		var b bytes.Buffer
		name := filepath.Base(c.Name)
		if err := gguf.Write(&b, ck.Params, name, kind); err != nil {
			return nil, bad("checkpoint %s has %v", c.Name, err)
		}
		return map[string][]byte{name + "." + c.Type + ".gguf": b.Bytes()}, nil
	}
	if kind != gguf.F32 {
		return nil, bad("--type: %s is a type of GGUF files, and Hugging Face's layout holds f32: add --format gguf", c.Type)
	}
	if types := ck.Params.Config.LayerTypes; types != "" {
		return nil, bad("checkpoint %s has layers of the types %s, for which no class of transformers computes the same: driftlab alone reads the folder", c.Name, types)
	}
	files, err := model.Files(ck.Params, ck.Extras)
	if err != nil {
		return nil, err
	}
	more, err := model.HuggingFaceExtras(ck.Extras)
	if err != nil {
		return nil, badInput{err}
	}
	maps.Copy(files, more)
	return files, nil
}

type pretrainCmd struct {
	Recipe string `arg:"" complete:"recipes" help:"A recipe with a pretrain section: a shipped name, such as chain-base, or a file."`
	common
}

func (*pretrainCmd) Help() string {
	return `Trains a model from random weights on noisy demonstrations of the task, and writes a checkpoint that recipes can name.

Examples:
  simulate pretrain chain-base --out ./my-base
  simulate pretrain chain-base --set model.experts=16 --set pretrain.steps=3000 --out ./base-16
  simulate train --set checkpoint=./my-base`
}

// pretrained is the document of pretrain --json.
type pretrained struct {
	Dir     string           `json:"dir"`
	Name    string           `json:"name"`
	Seed    uint64           `json:"seed"`
	Steps   int              `json:"steps"`
	Loss    float64          `json:"loss"`
	Sampled trainer.PassRate `json:"sampled"`
	Greedy  trainer.PassRate `json:"greedy"`
	Recipe  rawJSON          `json:"recipe"`
}

// Run makes the checkpoint.
func (c *pretrainCmd) Run(a *app) error {
	r, err := c.load(c.Recipe)
	if err != nil {
		return err
	}
	if r.Pretrain == nil {
		return bad("recipe %s has no pretrain section: add pretrain: {}, or --set pretrain.steps=1500", c.Recipe)
	}
	dir := cmp.Or(c.Out, filepath.Join("checkpoints", r.Name))
	lock, err := record.LockFolder(dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	if err := emptyFolder(dir); err != nil {
		return err
	}
	m := a.meter(c.Quiet, r.Name, "step", r.Pretrain.Steps)
	result, err := trainer.Pretrain(a.ctx, r, trainer.Options{Workers: c.workers(), Progress: m.run("")})
	m.close()
	if errors.Is(err, context.Canceled) {
		return interrupted{"an interrupted warm start cannot be resumed; run the same command again"}
	}
	if err != nil {
		return err
	}
	lock.Release() // a folder that was made for the lock goes, so that Save can make it whole or not at all
	bos, eos := int(task.BOS), int(task.EOS)
	err = model.Save(dir, result.Params, model.Extras{Vocab: r.Task.Params.Vocab(), BOS: &bos, EOS: &eos,
		Notes: map[string]string{"recipe": r.Name, "seed": strconv.FormatUint(r.Seed, 10)}})
	if err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(pretrained{dir, r.Name, r.Seed, r.Pretrain.Steps, result.Loss, result.Sampled, result.Greedy, r.JSON()})
	}
	t := &figure.Figure{
		Kind:    figure.Table,
		Title:   fmt.Sprintf("%s: %d steps, loss %s nats per token", r.Name, r.Pretrain.Steps, figure.FormatNumber(result.Loss, 3)),
		Columns: []figure.Column{{Name: "held-out prompts"}, {Name: "pass rate", Align: figure.Right}, {Name: "length", Align: figure.Right}, {Name: "finished", Align: figure.Right}},
	}
	for _, p := range []struct {
		name string
		rate trainer.PassRate
	}{{"sampled", result.Sampled}, {"greedy", result.Greedy}} {
		t.Add(figure.Word(p.name), figure.Percent(p.rate.Rate, 1), figure.Number(p.rate.Length, 3), figure.Percent(p.rate.Finished, 1))
	}
	a.printTable(t)
	fmt.Fprintf(a.stdout, "Checkpoint: %s\n", dir)
	return nil
}

type evaluateCmd struct {
	What    []string `arg:"" complete:"recipes" help:"Folders of finished runs, or recipes: the weights that these start from."`
	Prompts number   `help:"Held-out prompts, the same for all weights with the same task." default:"64" min:"1" max:"65536" placeholder:"N"`
	Samples number   `help:"Responses to each prompt." default:"32" min:"1" max:"65536" placeholder:"N"`
	Most    number   `help:"Sample each prompt until two responses are correct, at most N responses; 0 switches this off." default:"0" max:"1048576" placeholder:"N"`
	K       []number `name:"k" help:"Values of k to show." default:"1,4,16,64,256" placeholder:"K,..."`
	jsonFlag
	recipeFlags
	workFlags
}

func (*evaluateCmd) Help() string {
	return `Samples each set of weights on held-out prompts, at temperature 1 in the numerics of its trainer, and ranks the sets by
pass@k: the chance that at least one of k responses is correct. Up to --samples, pass@k is the unbiased estimate from counts.
Beyond, it is computed from the Beta distribution that is fitted to the prompts' pass rates, with a 95 % interval.
The ranking may change with k.

Examples:
  simulate evaluate default runs/first
  simulate evaluate runs/first runs/second --samples 16 --most 512 --k 1,16,1000
  simulate evaluate default --set checkpoint=./my-base --set task.difficulty=[6,12] --json`
}

// evaluated is one set of weights in the document of evaluate --json.
type evaluated struct {
	Name      string   `json:"name"`
	Prompts   int      `json:"prompts"`
	Responses int      `json:"responses"`
	Alpha     float64  `json:"alpha"`
	Beta      float64  `json:"beta"`
	PassAt    []passAt `json:"pass_at"`
}

// passAt is pass@k of one set of weights; Low and High are the ends of a fitted
// one's interval, Rank is 1 for the best.
type passAt struct {
	K      int      `json:"k"`
	Value  float64  `json:"value"`
	Fitted bool     `json:"fitted"`
	Low    *float64 `json:"low,omitempty"`
	High   *float64 `json:"high,omitempty"`
	Rank   int      `json:"rank"`
}

// untilCorrect is when dynamic N leaves a prompt.
const untilCorrect = 2

// Run evaluates and ranks.
func (c *evaluateCmd) Run(a *app) error {
	if slices.Min(c.K) < 1 {
		return bad("--k: %d: give numbers of attempts from 1", slices.Min(c.K))
	}
	if c.Most > 0 && c.Most <= c.Samples {
		return bad("--most: %d: must exceed --samples %d", c.Most, c.Samples)
	}
	var recipes []recipe.Recipe
	for _, what := range c.What {
		r, err := c.weights(what)
		if err != nil {
			return err
		}
		recipes = append(recipes, r)
	}
	attempts := trainer.Attempts{Prompts: int(c.Prompts), Samples: int(c.Samples), Most: int(c.Most), Until: untilCorrect}
	m := a.meter(c.Quiet, "evaluate", "model", len(recipes))
	var all []evaluated
	for i, r := range recipes {
		ck, err := model.Open(r.Checkpoint)
		if err != nil {
			return err
		}
		e, err := trainer.Evaluate(a.ctx, ck.Params, r, attempts, trainer.Options{Workers: c.workers()})
		if err != nil {
			m.close()
			return interrupted{"an interrupted evaluation cannot be resumed; run the same command again"}
		}
		all = append(all, c.passAtK(c.What[i], e))
		m.add(1, 0, c.What[i])
	}
	m.close()
	rank(all)
	if c.JSON {
		return a.printJSON(all)
	}
	a.printTable(c.table(all))
	return nil
}

// weights reads what one argument names, as a recipe whose checkpoint they are.
func (c *evaluateCmd) weights(what string) (recipe.Recipe, error) {
	f := c.recipeFlags
	if info, err := os.Stat(what); err == nil && info.IsDir() {
		if err := folderToEvaluate(what); err != nil {
			return recipe.Recipe{}, err
		}
		f.Set = append([]string{"checkpoint=" + strconv.Quote(filepath.Join(what, record.CheckpointFolder))}, f.Set...)
		what = filepath.Join(what, record.RecipeFile)
	}
	r, err := f.load(what)
	if err == nil && r.Checkpoint == "" {
		err = bad("%s: the recipe starts from random weights: name trained weights with --set checkpoint=...", what)
	}
	return r, err
}

// passAtK sums an evaluation up.
func (c *evaluateCmd) passAtK(name string, e trainer.Evaluation) evaluated {
	out := evaluated{Name: name, Prompts: len(e.Prompts)}
	var tallies []passk.Tally
	for _, p := range e.Prompts {
		tallies = append(tallies, p.Tally)
		out.Responses += p.Samples
	}
	fit := passk.Fit(tallies)
	out.Alpha, out.Beta = fit.Alpha, fit.Beta
	for _, k := range c.K {
		p := passAt{K: int(k), Fitted: k > c.Samples}
		if p.Fitted {
			p.Value = fit.PassAt(p.K)
			if low, high := fit.Interval(p.K); !math.IsNaN(low) {
				p.Low, p.High = &low, &high
			}
		} else {
			p.Value = passk.Mean(tallies, p.K)
		}
		out.PassAt = append(out.PassAt, p)
	}
	return out
}

// rank numbers the weights by each pass@k, equal ones alike.
func rank(all []evaluated) {
	for i := range all {
		for j := range all[i].PassAt {
			p := &all[i].PassAt[j]
			p.Rank = 1
			for _, other := range all {
				if other.PassAt[j].Value > p.Value {
					p.Rank++
				}
			}
		}
	}
}

// table has a row for each set of weights and a column for each k.
func (c *evaluateCmd) table(all []evaluated) *figure.Figure {
	t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "weights"}, {Name: "responses", Align: figure.Right}}}
	for _, k := range c.K {
		t.Columns = append(t.Columns, figure.Column{Name: fmt.Sprintf("pass@%d", k), Align: figure.Right})
	}
	for _, e := range all {
		row := []figure.Cell{figure.Word(e.Name), figure.Word(strconv.Itoa(e.Responses))}
		for _, p := range e.PassAt {
			text := figure.FormatNumber(p.Value, 3)
			if p.Low != nil {
				text += fmt.Sprintf(" [%s, %s]", figure.FormatNumber(*p.Low, 3), figure.FormatNumber(*p.High, 3))
			}
			cell := figure.Word(text)
			if p.Rank == 1 && len(all) > 1 {
				cell = cell.As(figure.Strong)
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	t.Note = fmt.Sprintf("%d held-out prompts. Up to k = %d: unbiased estimate from counts; beyond: fitted Beta distribution, with its 95 %% interval. The best value of each column is highlighted.", c.Prompts, c.Samples)
	return t
}
