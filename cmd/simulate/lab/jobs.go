//go:build js

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"syscall/js"
	"time"

	"driftlab/experiments/lesson/live"
	"driftlab/experiments/measure"
	"driftlab/experiments/run"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// tick is the time between two messages of a run at least.
const tick = 100 * time.Millisecond

func (j *job) measure(ctx context.Context, r recipe.Recipe, m message) error {
	var sampled *batch.Batch
	post(reply{ID: j.id, Progress: &progress{Of: 1}})
	measured, err := measure.Gaps(ctx, measure.GapRequest{Recipe: r,
		Progress: func(int, int) { j.breathe(ctx) },
		Responses: func(_ string, b *batch.Batch, _ []task.Prompt, _ []task.Verdict) error {
			sampled = b
			return nil
		}})
	if err != nil {
		return err
	}
	sendTokens(j.id, sampled)
	panels := live.Gap(measured.Pairs[0], sampled, r.Task.New().Vocab())
	post(reply{ID: j.id, Result: measured, Panels: panels, Command: command("measure", m)})
	return nil
}

// train makes a run, and tells of each step.
func (j *job) train(ctx context.Context, r recipe.Recipe, m message) error {
	begun, told := time.Now(), time.Time{}
	so := &record.Record{}
	var rows []row
	var lines []byte
	result, err := run.Run(ctx, r, run.Options{Step: func(step int, x []record.Metric) {
		so.Add(step, x)
		rows = append(rows, row{step, x})
		lines = record.AppendStep(lines, step, x)
		if time.Since(told) >= tick || step == r.Steps || j.paused {
			told = time.Now()
			p := &progress{Done: step, Of: r.Steps}
			if step > 0 {
				p.ETA = math.Round(time.Since(begun).Seconds() / float64(step) * float64(r.Steps-step))
			}
			post(reply{ID: j.id, Progress: p, Rows: rows, Panels: live.Run("your run", so)})
			rows = nil
		}
		j.breathe(ctx)
	}})
	if result != nil {
		last = &saved{result, lines, r.Task.New().Vocab()}
		post(reply{ID: j.id, Rows: rows, Panels: live.Run("your run", so), Result: result.Summary, Digest: result.Digest(), Command: command("train", m)})
	}
	return err
}

// command is the same job on a command line.
func command(do string, m message) string {
	words := []string{"simulate", do, m.Recipe}
	for _, s := range m.Set {
		words = append(words, "--set", record.ShellWord(s))
	}
	return strings.Join(words, " ")
}

// sendTokens hands the columns of a batch over, without copying them twice.
func sendTokens(id int, b *batch.Batch) {
	n := b.Tokens()
	columns, moved := map[string]any{}, []any{}
	for name, value := range map[string]func(int) float32{
		"token":        func(i int) float32 { return float32(b.Token[i]) },
		"logp_rollout": func(i int) float32 { return float32(b.LogpRoll[i]) },
		"logp_old":     func(i int) float32 { return float32(b.Old.Logp[i]) },
		"log_ratio":    func(i int) float32 { return float32(b.Old.Logp[i] - b.LogpRoll[i]) },
	} {
		raw := make([]byte, 0, 4*n)
		for i := range n {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(value(i)))
		}
		buffer := bytesOf(raw).Get("buffer")
		columns[name], moved = js.Global().Get("Float32Array").New(buffer), append(moved, buffer)
	}
	js.Global().Call("postMessage", map[string]any{"v": protocol, "id": id, "tokens": columns}, moved)
}

// bytesOf is a Uint8Array.
func bytesOf(raw []byte) js.Value {
	array := js.Global().Get("Uint8Array").New(len(raw))
	js.CopyBytesToJS(array, raw)
	return array
}

type saved struct {
	result *run.Result
	lines  []byte
	vocab  []string
}

// save hands the last run over as the archive of its folder.
func save(id int) {
	if last == nil {
		post(reply{ID: id, Fault: "save: no run has ended here yet"})
		return
	}
	var checkpoint map[string][]byte
	var err error
	r := last.result
	if r.Summary.Status == record.StatusFinished {
		checkpoint, err = model.Files(r.Params, model.Extras{Vocab: last.vocab})
	}
	var archive bytes.Buffer
	if err = errors.Join(err, record.WriteArchive(&archive, r.Record, last.lines, checkpoint)); err != nil {
		post(reply{ID: id, Fault: "save: " + err.Error()})
		return
	}
	array := bytesOf(archive.Bytes())
	js.Global().Call("postMessage", map[string]any{"v": protocol, "id": id, "file": r.Summary.Name + ".zip", "bytes": array}, []any{array.Get("buffer")})
}
