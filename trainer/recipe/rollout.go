package recipe

import "driftlab/engine"

// Rollout is the engine that samples, and how it samples.
type Rollout struct {
	Numerics          engine.Numerics    `yaml:"numerics"`
	Temperature       float64            `yaml:"temperature" default:"1" range:"[1e-6,100]"`
	TopP              float64            `yaml:"top_p" default:"1" range:"(0,1]"`
	TopK              int                `yaml:"top_k" range:"[0,2^20]"`
	MaxTokens         int                `yaml:"max_tokens" default:"64" range:"[1,2^16]"`
	Prompts           int                `yaml:"prompts" default:"16" range:"[1,2^16]"`
	Group             int                `yaml:"group" default:"8" range:"[1,2^16]"`
	Slots             int                `yaml:"slots" range:"[0,2^16]"`
	PrefillChunk      int                `yaml:"prefill_chunk" range:"[0,2^16]"`
	PrefixCache       bool               `yaml:"prefix_cache"`
	SharedPrefixCache *SharedPrefixCache `yaml:"shared_prefix_cache"`
	RecomputedRoutes  bool               `yaml:"recomputed_routes"`
	WeightSync        *WeightSync        `yaml:"weight_sync"`
	LogProbs          string             `yaml:"log_probs" default:"processed" oneof:"processed raw tempered"`
	KVRetention       *KVRetention       `yaml:"kv_retention"`
	Fleet             []FleetMember      `yaml:"fleet"`
	KVScales          KVScales           `yaml:"kv_scales"`
	Noise             Noise              `yaml:"noise"`
	Pool              *Pool              `yaml:"pool"`
	DynamicSampling   *DynamicSampling   `yaml:"dynamic_sampling"`
	Speculative       *Speculative       `yaml:"speculative"`
	LearnReplies      bool               `yaml:"learn_replies"`
	Fusion            *Fusion            `yaml:"fusion"`
}

// DynamicSampling is DAPO's (2503.14476, section 3.2).
type DynamicSampling struct {
	Refuse     string `yaml:"refuse" default:"equal" oneof:"equal equal_reward solved"`
	MaxBatches int    `yaml:"max_batches" default:"10" range:"[1,2^16]"`
}

// Values of DynamicSampling.Refuse.
const (
	RefuseEqualReward = "equal_reward"
	RefuseSolved      = "solved"
)

// Speculative is speculative decoding with a drafter that may be stale (ReSpec, 2510.26475).
type Speculative struct {
	Drafter  string           `yaml:"drafter" default:"self"`
	Numerics *engine.Numerics `yaml:"numerics"`
	Draft    int              `yaml:"draft" default:"4" range:"[1,64]"`
	Refresh  int              `yaml:"refresh" range:"[0,2^24]"`
	Verify   string           `yaml:"verify" default:"exact" oneof:"exact lossy greedy"`
	Tau      float64          `yaml:"tau" range:"[0,inf)"`
	LogProbs string           `yaml:"log_probs" default:"verifier" oneof:"verifier drafter law"`
	Adaptive bool             `yaml:"adaptive"`
	Cost     float64          `yaml:"cost" range:"[0,inf)"`
	Distill  Distill          `yaml:"distill"`
}

// Distill pulls the drafter towards the rollout engine's recorded distributions.
type Distill struct {
	Every int     `yaml:"every" range:"[0,2^24]"`
	LR    float64 `yaml:"lr" default:"1e-3" range:"(0,10]"`
}

// Values of Speculative's words.
const (
	DrafterSelf      = "self"
	VerifyLossy      = "lossy"
	VerifierLogProbs = "verifier"
)

// KVRetention says which part of the KV cache stays while a response is decoded.
type KVRetention struct {
	Policy string  `yaml:"policy" default:"window" oneof:"window heavy_hitter"`
	Keep   float64 `yaml:"keep" default:"0.5" range:"[0,1]"`
	Budget int     `yaml:"budget" range:"[0,2^16]"`
	Sinks  int     `yaml:"sinks" default:"4" range:"[0,2^16]"`
	Recent int     `yaml:"recent" default:"8" range:"[1,2^16]"`
}

// retainHeavyHitter is a value of KVRetention.Policy.
const retainHeavyHitter = "heavy_hitter"

// Retention says over which positions the learner attends.
type Retention struct {
	Replay bool `yaml:"replay"`
}

// Values of Rollout.LogProbs.
const (
	ProcessedLogProbs = "processed"
	RawLogProbs       = "raw"
)

// Responses is the number of responses per step.
func (r Rollout) Responses() int { return r.Prompts * r.Group }

// SharedPrefixCache is automatic prefix caching, as in vLLM and SGLang.
type SharedPrefixCache struct {
	Policy      string `yaml:"policy" default:"flush" oneof:"flush salt none"`
	Blocks      int    `yaml:"blocks" default:"4096" range:"[1,2^20]"`
	BlockTokens int    `yaml:"block_tokens" default:"4" range:"[1,2^16]"`
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
