// Package episode has the policy value its own responses step by step, without a
// trained critic: a response is cut into episodes at markers, and the response up to
// where an episode begins is worth what the policy makes of it from there.
//
// Two values are to be had. By completions, a prefix is worth the share of responses
// sampled from it on that are correct (VinePPO, arXiv:2410.01679): no bias, K times
// the tokens. By likelihood, it is worth the log-prob of the true answer after the
// prefix and a few words that ask for it: one short pass, and the value of another
// policy than the one that goes on, namely one that answers at once.
//
// What it is not: it makes no rewards (reward marginal_utility does) and no advantages
// (advantage vine, process).
//
// # A short tour
//
//	v := episode.NewValuer(recipe)              // prefix_values says how
//	cost := v.Fill(b, prompts, engine, seed)    // fills b.Episode, b.PrefixValue
package episode

import "slices"

// cut numbers the episodes of a response: one begins at every marker, and where an
// episode has reached its longest. From the first mark on, it is the answer, which is
// always the last one. A response begins its first episode with its first token.
func cut(dst []int32, response []int32, opens []int32, mark int32, longest int) []int32 {
	answer := slices.Index(response, mark)
	number, length := int32(0), 0
	for at, id := range response {
		inAnswer := answer >= 0 && at > answer
		if at > 0 && !inAnswer && (at == answer || slices.Contains(opens, id) || length == longest) {
			number, length = number+1, 0
		}
		dst = append(dst, number)
		length++
	}
	return dst
}
