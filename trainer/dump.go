package trainer

import (
	"driftlab/engine/learner"
	"driftlab/results"
	"driftlab/trainer/batch"
	"driftlab/trainer/recipe"
)

// dump writes the step's responses, one line each, scored once more under the
// weights the step ended with.
func (s *session) dump(step int) error {
	if s.options.Dump == nil {
		return nil
	}
	old, now := &s.batch, batch.Batch{}
	now.Offsets, now.Prompt, now.Token, now.Mask = old.Offsets, old.Prompt, old.Token, old.Mask
	now.Support = old.Support
	now.KVKept, now.KVPlanes, now.KVWords = old.KVKept, old.KVPlanes, old.KVWords
	now.RoutesRoll, now.PromptRoutes = old.RoutesRoll, old.PromptRoutes
	now.GatesRoll, now.PromptGates = old.GatesRoll, old.PromptGates
	if s.replay == learner.ReplayOld {
		// The pass follows these and records them again, unchanged.
		now.RoutesOld, now.PromptRoutesOld = old.RoutesOld, old.PromptRoutesOld
		now.GatesOld, now.PromptGatesOld = old.GatesOld, old.PromptGatesOld
	}
	s.learner.Score(&now, learner.ScoreOptions{Column: learner.Old, Temperature: s.recipe.LearnerTemperature(),
		Replay: s.replay, Gates: s.gates, Support: s.recipe.Support.Replay, Retention: s.recipe.ReplaysRetention()})
	return writeDump(s.options.Dump, s.recipe.Name, step+1, s.recipe.Rollout, old, now.LogpOld)
}

// writeDump writes the responses of a batch.
func writeDump(w *results.DumpWriter, run string, step int, r recipe.Rollout, b *batch.Batch, logpNew []float64) error {
	per := b.Layers * b.TopK
	for i := range b.Len() {
		from, to := b.Span(i)
		line := results.DumpLine{
			Run: run, Step: step, Sample: i, TokenIDs: b.Token[from:to], Mask: b.Mask[from:to],
			LogpRollout: b.LogpRoll[from:to], Version: b.Version[from:to], KeptMass: b.KeptMass[from:to],
			Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK,
			TurnID: make([]int32, to-from),
		}
		if b.Group != nil {
			line.Group, line.PromptID = b.Group[i], b.PromptID[i]
		}
		if b.Reward != nil {
			line.Reward = b.Reward[i]
		}
		if b.LogpOld != nil {
			line.LogpOld = b.LogpOld[from:to]
		}
		if b.Advantage != nil {
			line.Advantage = b.Advantage[from:to]
		}
		if logpNew != nil {
			line.LogpNew = logpNew[from:to]
		}
		if b.Turn != nil {
			line.TurnID = b.Turn[from:to]
		}
		if per > 0 {
			line.RoutesRollout = results.Routes{Expert: b.RoutesRoll[from*per : to*per], Layers: b.Layers, TopK: b.TopK}
			if b.RoutesOld != nil {
				line.RoutesLearner = results.Routes{Expert: b.RoutesOld[from*per : to*per], Layers: b.Layers, TopK: b.TopK}
			}
		}
		if err := w.Write(&line); err != nil {
			return err
		}
	}
	return nil
}
