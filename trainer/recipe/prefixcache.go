package recipe

// SharedPrefixCache is automatic prefix caching, as in vLLM and SGLang: keys, values and
// routes of prompts are kept in blocks and found again by their tokens, in later requests
// and steps. Each worker of an asynchronous schedule has a cache of its own, and so has each
// engine of a fleet. Responses are not kept, and evaluations do without. The prompts of a
// task differ but for their beginning: give the run a pool, so that they come back.
type SharedPrefixCache struct {
	// Policy is what a weight sync does to the cache: flush (it is emptied), salt (the
	// version of the weights is part of the key) or none (blocks of old weights are used
	// under new ones: stale keys and values, NeMo-RL #4018, SkyRL #2246, prime-rl #2270).
	// With flush and salt no bit changes if the numerics decode as they score. simulate
	// measure of none makes the steps of the run but one, and measures with prompts that
	// were cached before the first.
	Policy string `yaml:"policy" default:"flush" oneof:"flush salt none"`
	// Blocks is the capacity, 1 or more; the least recently used block is evicted first.
	Blocks int `yaml:"blocks" default:"4096" range:"[1,2^20]"`
	// BlockTokens is the number of tokens of a block, 1 or more: a prompt is cached in whole
	// blocks, and its last token is always read. vLLM has 16, for prompts of hundreds of
	// tokens; the default is 4.
	BlockTokens int `yaml:"block_tokens" default:"4" range:"[1,2^16]"`
}

// PrefixesUnflushed is the SharedPrefixCache.Policy under which keys and values outlive
// their weights.
const PrefixesUnflushed = "none"

// StalePrefixes reports whether keys and values of prompts may be older than the weights.
func (r Rollout) StalePrefixes() bool {
	return r.SharedPrefixCache != nil && r.SharedPrefixCache.Policy == PrefixesUnflushed
}

// sharedPrefixCache checks what a cache over steps goes with.
func (c *checker) sharedPrefixCache(r Rollout) {
	if r.SharedPrefixCache == nil {
		return
	}
	const at = "rollout.shared_prefix_cache"
	if k := r.KVRetention; k != nil {
		c.that(k.Policy != retainHeavyHitter, at, "keeps keys and values, and kv_retention heavy_hitter needs the attention that each prompt gave them: leave one of the two out")
	}
	c.that(r.KVScales.Prompts == 0, at, "keeps keys with the scales that they were stored with, and kv_scales finds others: leave one of the two out")
	c.that(r.Noise.Start == 0, at, "knows weights by their version, and noise draws others of the same version at every sync: leave one of the two out")
}
