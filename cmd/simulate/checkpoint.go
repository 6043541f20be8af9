package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"driftlab/experiments/study"
	"driftlab/model"
	"driftlab/model/gguf"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method"
)

type checkpointCmd struct {
	List   checkpointListCmd   `cmd:"" help:"List the checkpoints inside the binary."`
	Export checkpointExportCmd `cmd:"" help:"Write a checkpoint to a folder, in the layout of Hugging Face or as a GGUF file."`
}

type checkpointListCmd struct{ jsonFlag }

type checkpointInfo struct {
	Name       string            `json:"name"`
	Parameters int               `json:"parameters"`
	Config     model.Config      `json:"config"`
	Notes      map[string]string `json:"notes"`
}

// Run lists the checkpoints.
func (c *checkpointListCmd) Run(a *app) error {
	infos := []checkpointInfo{}
	t := tableHead("checkpoints")
	for _, name := range model.Shipped() {
		ck, _ := model.Open(name) // it is in the program
		m := ck.Params.Config
		infos = append(infos, checkpointInfo{name, m.Params(), m, ck.Notes})
		experts := "dense"
		if !m.Dense() {
			experts = fmt.Sprintf("%d, top %d", m.Experts, m.TopK)
		}
		t.Add(figure.Word(name).As(figure.Strong), figure.Word(fmt.Sprint(m.Params())), figure.Word(fmt.Sprint(m.Layers)),
			figure.Word(fmt.Sprint(m.DModel)), figure.Word(experts), figure.Word(fmt.Sprint(m.Vocab)), figure.Word(fmt.Sprint(m.Context)))
	}
	return a.show(c.JSON, infos, t)
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
			return bad("checkpoint: %w", method.UnknownName(c.Name, model.Shipped()))
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
		notes := map[string]string{}
		maps.Copy(notes, ck.Notes)
		notes["outliers"] = fmt.Sprint(c.Outliers)
		ck.Notes = notes
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

type pretrained struct {
	Dir     string           `json:"dir"`
	Name    string           `json:"name"`
	Seed    uint64           `json:"seed"`
	Steps   int              `json:"steps"`
	Loss    float64          `json:"loss"`
	Sampled trainer.PassRate `json:"sampled"`
	Greedy  trainer.PassRate `json:"greedy"`
	Recipe  json.RawMessage  `json:"recipe"`
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
	result, err := trainer.Pretrain(a.ctx, r, trainer.Options{Workers: c.workers(), Progress: m.run()})
	m.close()
	if errors.Is(err, context.Canceled) {
		return interrupted{"an interrupted warm start cannot be resumed; run the same command again"}
	}
	if err != nil {
		return err
	}
	lock.Release() // a folder that was made for the lock goes, so that Save can make it whole or not at all
	if err := study.SaveBase(dir, r, result.Params); err != nil {
		return err
	}
	if c.JSON {
		return a.printJSON(pretrained{dir, r.Name, r.Seed, r.Pretrain.Steps, result.Loss, result.Sampled, result.Greedy, r.JSON()})
	}
	t := tableHead("pretrained", r.Name, r.Pretrain.Steps, figure.FormatNumber(result.Loss, 3))
	for i, p := range []trainer.PassRate{result.Sampled, result.Greedy} {
		t.Add(figure.Word([]string{"sampled", "greedy"}[i]), figure.Percent(p.Rate, 1), figure.Number(p.Length, 3), figure.Percent(p.Finished, 1))
	}
	a.printTable(t)
	fmt.Fprintf(a.stdout, "Checkpoint: %s\n", dir)
	return nil
}
