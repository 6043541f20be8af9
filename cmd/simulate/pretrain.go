package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/task"
)

type pretrainCmd struct {
	Recipe string `arg:"" complete:"recipes" help:"A recipe with a pretrain section: a shipped name, such as chain-base, or a file."`
	common
}

// Help is the long help text.
func (*pretrainCmd) Help() string {
	return `Trains a model from random weights on the task's noisy demonstrations and writes a checkpoint that recipes can name.

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
		return interrupted{"a warm start keeps nothing half done; run the same command again"}
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
