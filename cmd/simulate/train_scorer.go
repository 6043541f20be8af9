package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"

	runner "driftlab/experiments/run"
	"driftlab/model"
	"driftlab/results/record"
	"driftlab/trainer"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/recipe"
)

// scorerFlags name another engine, which gives the sampled responses their log-probs.
type scorerFlags struct {
	Scorer string `help:"Take the log-probs of the sampled responses from a command: a real engine with the same weights. At each step it gets a checkpoint's folder as its last argument and, on standard input, a line for each response: the prompt's length, then all token ids. It prints a line of log-probs for each." placeholder:"COMMAND"`
	Scored string `help:"Take them from a recording: the file scored.jsonl of a run with --scorer, also compressed (.gz)." placeholder:"FILE" complete:"files"`
}

// scorer is the one that the flags name; nil for none.
func (f *scorerFlags) scorer(a *app, r recipe.Recipe) (trainer.Scorer, error) {
	switch {
	case f.Scorer != "" && f.Scored != "":
		return nil, bad("--scorer and --scored both name log-probs: give one of them")
	case f.Scored != "":
		text, err := record.ReadFile(f.Scored)
		if err != nil {
			return nil, bad("--scored: %w", err)
		}
		scorer, err := runner.Recorded(f.Scored, text)
		if err != nil {
			return nil, badInput{err}
		}
		return scorer, nil
	case f.Scorer != "":
		words := strings.Fields(f.Scorer)
		if len(words) == 0 {
			return nil, bad("--scorer: no command")
		}
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, bad("--scorer: %v", err)
		}
		return command{words, r.Task.New().Vocab(), a}.score, nil
	}
	return nil, nil
}

// command is a scorer in another process.
type command struct {
	words []string
	vocab []string
	app   *app
}

// score writes the weights to a folder and the responses to the command, and reads what it prints.
func (c command) score(_ int, weights *model.Params, b *batch.Sampled) error {
	dir, err := os.MkdirTemp("", "simulate-scorer")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := model.Save(dir, weights, model.Extras{Vocab: c.vocab}); err != nil {
		return err
	}
	var in, out bytes.Buffer
	for i := range b.Len() {
		from, to := b.Span(i)
		fmt.Fprint(&in, len(b.Prompt[i]))
		for _, ids := range [][]int32{b.Prompt[i], b.Token[from:to]} {
			for _, id := range ids {
				fmt.Fprint(&in, " ", id)
			}
		}
		in.WriteByte('\n')
	}
	process := exec.Command(c.words[0], append(c.words[1:len(c.words):len(c.words)], dir)...)
	process.Stdin, process.Stdout, process.Stderr = &in, &out, c.app.stderr
	if err := process.Run(); err != nil {
		return fmt.Errorf("--scorer %s: %w", c.words[0], err)
	}
	return c.read(out.String(), b)
}

// read puts the log-probs that the command printed in the place of the engine's.
func (c command) read(printed string, b *batch.Sampled) error {
	lines := strings.Split(strings.TrimRight(printed, "\n"), "\n")
	if len(lines) != b.Len() {
		return fmt.Errorf("--scorer %s: %d lines for %d responses", c.words[0], len(lines), b.Len())
	}
	for i, line := range lines {
		words := strings.Fields(line)
		from, to := b.Span(i)
		if len(words) != to-from {
			return fmt.Errorf("--scorer %s: line %d: %d log-probs for %d tokens", c.words[0], i+1, len(words), to-from)
		}
		for n, word := range words {
			x, err := strconv.ParseFloat(word, 64)
			if err != nil || !(x <= 0) || math.IsInf(x, 0) {
				return fmt.Errorf("--scorer %s: line %d: %q is no log-prob of a token", c.words[0], i+1, word)
			}
			if b.Mask[from+n] {
				b.LogpRoll[from+n] = x
			}
		}
	}
	return nil
}
