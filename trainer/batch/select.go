package batch

import "fmt"

// Select copies the given responses, in the given order, into dst, with every
// column that has been recorded, and keeps dst's memory. It is how a minibatch
// is cut out of a batch: groups that were contiguous stay so if the rows are
// given in order. Columns that have not been recorded are nil in dst.
func (b *Batch) Select(dst *Batch, rows []int) {
	n := b.Tokens()
	dst.Offsets = append(dst.Offsets[:0], 0)
	for _, i := range rows {
		if i < 0 || i >= b.Len() {
			panic(fmt.Sprintf("batch: Select of row %d from %d", i, b.Len()))
		}
		from, to := b.Span(i)
		dst.Offsets = append(dst.Offsets, dst.Offsets[len(dst.Offsets)-1]+to-from)
	}
	dst.Layers, dst.TopK, dst.Vocab, dst.LearnerVersion = b.Layers, b.TopK, b.Vocab, b.LearnerVersion
	dst.Step = b.Step

	dst.Token = gatherTokens(dst.Token, b.Token, 1, n, b, rows)
	dst.Mask = gatherTokens(dst.Mask, b.Mask, 1, n, b, rows)
	dst.LossMask = gatherTokens(dst.LossMask, b.LossMask, 1, n, b, rows)
	dst.BatchMask = gatherTokens(dst.BatchMask, b.BatchMask, 1, n, b, rows)
	dst.LogpRoll = gatherTokens(dst.LogpRoll, b.LogpRoll, 1, n, b, rows)
	dst.LogpOld = gatherTokens(dst.LogpOld, b.LogpOld, 1, n, b, rows)
	dst.Logp = gatherTokens(dst.Logp, b.Logp, 1, n, b, rows)
	dst.LogpRef = gatherTokens(dst.LogpRef, b.LogpRef, 1, n, b, rows)
	dst.LogpTeacher = gatherTokens(dst.LogpTeacher, b.LogpTeacher, 1, n, b, rows)
	dst.Advantage = gatherTokens(dst.Advantage, b.Advantage, 1, n, b, rows)
	dst.Weight = gatherTokens(dst.Weight, b.Weight, 1, n, b, rows)
	dst.Gate = gatherTokens(dst.Gate, b.Gate, 1, n, b, rows)
	dst.BatchWeight = gatherTokens(dst.BatchWeight, b.BatchWeight, 1, n, b, rows)
	dst.BatchGate = gatherTokens(dst.BatchGate, b.BatchGate, 1, n, b, rows)
	dst.TokenReward = gatherTokens(dst.TokenReward, b.TokenReward, 1, n, b, rows)
	dst.Value = gatherTokens(dst.Value, b.Value, 1, n, b, rows)
	dst.Return = gatherTokens(dst.Return, b.Return, 1, n, b, rows)
	dst.Entropy = gatherTokens(dst.Entropy, b.Entropy, 1, n, b, rows)
	dst.SumSquares = gatherTokens(dst.SumSquares, b.SumSquares, 1, n, b, rows)
	dst.Version = gatherTokens(dst.Version, b.Version, 1, n, b, rows)
	dst.Turn = gatherTokens(dst.Turn, b.Turn, 1, n, b, rows)
	dst.KeptMass = gatherTokens(dst.KeptMass, b.KeptMass, 1, n, b, rows)
	dst.Support = gatherTokens(dst.Support, b.Support, 1, n, b, rows)
	dst.Draft = gatherTokens(dst.Draft, b.Draft, 1, n, b, rows)
	dst.Window = gatherTokens(dst.Window, b.Window, 1, n, b, rows)
	dst.DrafterVersion = gatherTokens(dst.DrafterVersion, b.DrafterVersion, 1, n, b, rows)
	dst.LogpVerifier = gatherTokens(dst.LogpVerifier, b.LogpVerifier, 1, n, b, rows)
	dst.LogpLaw = gatherTokens(dst.LogpLaw, b.LogpLaw, 1, n, b, rows)
	dst.DraftTV = gatherTokens(dst.DraftTV, b.DraftTV, 1, n, b, rows)
	dst.LawTV = gatherTokens(dst.LawTV, b.LawTV, 1, n, b, rows)
	dst.KVPlanes, dst.KVWords = b.KVPlanes, b.KVWords
	dst.KVKept = gatherTokens(dst.KVKept, b.KVKept, b.KVPlanes*b.KVWords, n, b, rows)
	dst.RoutesRoll = gatherTokens(dst.RoutesRoll, b.RoutesRoll, b.Layers*b.TopK, n, b, rows)
	dst.RoutesOld = gatherTokens(dst.RoutesOld, b.RoutesOld, b.Layers*b.TopK, n, b, rows)
	dst.GatesRoll = gatherTokens(dst.GatesRoll, b.GatesRoll, b.Layers*b.TopK, n, b, rows)
	dst.GatesOld = gatherTokens(dst.GatesOld, b.GatesOld, b.Layers*b.TopK, n, b, rows)
	dst.DistRoll = gatherTokens(dst.DistRoll, b.DistRoll, b.Vocab, n, b, rows)
	dst.DistOld = gatherTokens(dst.DistOld, b.DistOld, b.Vocab, n, b, rows)
	dst.Dist = gatherTokens(dst.Dist, b.Dist, b.Vocab, n, b, rows)
	dst.DistRef = gatherTokens(dst.DistRef, b.DistRef, b.Vocab, n, b, rows)
	dst.DistShadow = gatherTokens(dst.DistShadow, b.DistShadow, b.Vocab, n, b, rows)

	dst.Prompt = gatherRows(dst.Prompt, b.Prompt, rows)
	dst.Group = gatherRows(dst.Group, b.Group, rows)
	dst.PromptRoutes = gatherRows(dst.PromptRoutes, b.PromptRoutes, rows)
	dst.PromptRoutesOld = gatherRows(dst.PromptRoutesOld, b.PromptRoutesOld, rows)
	dst.PromptGates = gatherRows(dst.PromptGates, b.PromptGates, rows)
	dst.PromptGatesOld = gatherRows(dst.PromptGatesOld, b.PromptGatesOld, rows)
	dst.PromptID = gatherRows(dst.PromptID, b.PromptID, rows)
	dst.Reward = gatherRows(dst.Reward, b.Reward, rows)
	dst.RewardParts = gatherRows(dst.RewardParts, b.RewardParts, rows)
	dst.GreedyReward = gatherRows(dst.GreedyReward, b.GreedyReward, rows)
	dst.Correct = gatherRows(dst.Correct, b.Correct, rows)
	dst.Finished = gatherRows(dst.Finished, b.Finished, rows)
	dst.ScoreNorm = gatherRows(dst.ScoreNorm, b.ScoreNorm, rows)
}

// gatherTokens copies the spans of the rows from a column of width entries per
// token. A column that does not have them, nil above all, has not been recorded.
func gatherTokens[T any](dst, src []T, width, tokens int, b *Batch, rows []int) []T {
	if len(src) != width*tokens || src == nil {
		return nil
	}
	dst = dst[:0]
	for _, i := range rows {
		from, to := b.Span(i)
		dst = append(dst, src[from*width:to*width]...)
	}
	return dst
}

// gatherRows copies the rows' entries of a column with one entry per response.
func gatherRows[T any](dst, src []T, rows []int) []T {
	if src == nil {
		return nil
	}
	dst = dst[:0]
	for _, i := range rows {
		dst = append(dst, src[i])
	}
	return dst
}
