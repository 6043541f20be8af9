package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"

	"driftlab/experiments/bench"
	"driftlab/model"
	"driftlab/model/gguf"
)

// The files of bench --peer.
const (
	peerCheckpoint = "checkpoint"
	peerGGUF       = "model.f32.gguf"
	peerPrompts    = "prompts.json"
)

// peer writes what other programs compute on, times the step and prints what they need.
func (c *benchCmd) peer(a *app, step bench.Step) error {
	if err := emptyFolder(c.Peer); err != nil {
		return err
	}
	params, doc := step.Params(), step.Peer()
	doc.Checkpoint, doc.Prompts = filepath.Join(c.Peer, peerCheckpoint), filepath.Join(c.Peer, peerPrompts)
	prompts, err := json.Marshal(step.Prompts())
	if err != nil {
		return err
	}
	if err := writeFile(c.Peer, peerPrompts, append(prompts, '\n')); err != nil {
		return err
	}
	if err := model.Save(doc.Checkpoint, params, model.Extras{}); err != nil {
		return err
	}
	var file bytes.Buffer
	if err := gguf.Write(&file, params, "bench", gguf.F32); err == nil { // else llama.cpp has no such model
		doc.GGUF = filepath.Join(c.Peer, peerGGUF)
		if err := writeFile(c.Peer, peerGGUF, file.Bytes()); err != nil {
			return err
		}
	}
	results, err := c.measure(a, step)
	if err != nil {
		return err
	}
	doc.Result = results[0]
	return a.printJSON(doc)
}
