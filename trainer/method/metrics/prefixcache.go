package metrics

import "driftlab/trainer/method/batch"

// prefixCache appends how much of the prompts came from a prefix cache that is shared over
// requests and steps, and how old it was.
func prefixCache(dst []batch.Metric, b *batch.Batch) []batch.Metric {
	cached, prompt, oldest, stale := 0, 0, 0, 0
	for i, n := range b.CachedTokens {
		cached, prompt = cached+int(n), prompt+len(b.Prompt[i])
		from, to := b.Span(i)
		if version := b.CachedVersion[i]; version >= 0 && from < to {
			age := int(b.Version[from] - version)
			oldest = max(oldest, age)
			if age > 0 {
				stale++
			}
		}
	}
	return append(dst,
		batch.Metric{Name: "prefix_cache/hit_rate", Value: float64(cached) / float64(max(prompt, 1))},
		batch.Metric{Name: "prefix_cache/max_age", Value: float64(oldest)},
		batch.Metric{Name: "prefix_cache/stale_responses", Value: float64(stale) / float64(max(b.Len(), 1))})
}
