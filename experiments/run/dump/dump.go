// Package dump writes what is known of a batch's responses as lines of a dump,
// token by token, for anyone to open.
//
// What it is not: it computes nothing, and knows no files; results has the format.
package dump

import (
	"slices"

	"driftlab/results/record"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// Writer writes batches of responses, one line each.
type Writer struct {
	// To receives the lines.
	To *record.DumpWriter
	// Run and Step say where they come from, Sampling how they were drawn.
	Run      string
	Step     int
	Sampling recipe.Rollout
}

// Write writes a batch with the prompts and verdicts of its responses. trained
// are the log-probs of the training forward, nil where nothing was trained.
func (d *Writer) Write(b *batch.Batch, prompts []task.Prompt, verdicts []task.Verdict, trained []float64) error {
	for i, p := range prompts {
		from, to := b.Span(i)
		line := record.DumpLine{
			Run: d.Run, Step: d.Step, Sample: i, Group: b.Group[i],
			PromptID: p.ID, Difficulty: p.Difficulty, PromptIDs: p.Tokens,
			TokenIDs: b.Token[from:to], Mask: b.Mask[from:to], Finished: b.Finished[i],
			LogpRollout: b.LogpRoll[from:to], LogpOld: span(b.Old.Logp, from, to), LogpNew: span(trained, from, to),
			Advantage: span(b.Advantage, from, to), Reward: b.Reward[i], Correct: verdicts[i].Correct, Format: verdicts[i].Format,
			Version:     b.Version[from:to],
			Temperature: d.Sampling.Temperature, TopP: d.Sampling.TopP, TopK: d.Sampling.TopK,
			KeptMass: b.KeptMass[from:to], Support: truncated(span(b.Support, from, to)),
			Window: span(b.Window, from, to), DrafterVersion: span(b.DrafterVersion, from, to),
			LogpVerifier: span(b.LogpVerifier, from, to), LogpLaw: span(b.LogpLaw, from, to),
			TurnID: span(b.Turn, from, to), LogpBehaviour: span(b.Behaviour.Logp, from, to),
			ActualVersion: span(b.ActualVersion, from, to), LogpTeacher: span(b.Teacher.Logp, from, to),
		}
		if b.LearnerVersion != d.Step-1 {
			line.LearnerVersion = b.LearnerVersion
		}
		if stale := span(b.Stale, from, to); slices.Contains(stale, true) {
			line.Stale = stale
		}
		for _, flag := range span(b.Draft, from, to) {
			line.Draft = append(line.Draft, int32(flag))
		}
		if words := b.KVPlanes * b.KVWords; b.KVKept != nil {
			line.KVKept = record.KVMasks{Planes: b.KVPlanes, Words: b.KVWords, Kept: b.KVKept[from*words : to*words]}
		}
		routes := func(expert []uint8) record.Routes {
			return record.Routes{Expert: expert, Layers: b.Layers, TopK: b.TopK}
		}
		if per := b.Layers * b.TopK; per > 0 {
			line.RoutesRollout, line.RoutesLearner = routes(span(b.RoutesRoll, from*per, to*per)), routes(span(b.Old.Routes, from*per, to*per))
			line.PromptRoutesRollout, line.PromptRoutesLearner = routes(one(b.PromptRoutes, i)), routes(one(b.Old.PromptRoutes, i))
		}
		if err := d.To.Write(&line); err != nil {
			return err
		}
	}
	return nil
}

// truncated is the support of tokens of which at least one was drawn from less
// than the whole vocabulary, else nil.
func truncated(support [][]int32) [][]int32 {
	if slices.ContainsFunc(support, func(ids []int32) bool { return ids != nil }) {
		return support
	}
	return nil
}

// span is a part of a column, nil if the column has not been recorded.
func span[T any](column []T, from, to int) []T {
	if column == nil {
		return nil
	}
	return column[from:to]
}

// one is an entry of a column, the zero value if the column has not been recorded.
func one[T any](column []T, i int) (entry T) {
	if column == nil {
		return entry
	}
	return column[i]
}
