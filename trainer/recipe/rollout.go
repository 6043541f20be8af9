package recipe

import (
	"driftlab/engine"
)

// Rollout is the engine that samples, and how it samples.
type Rollout struct {
	// Numerics is how the engine computes: a preset's name, or a mapping of what
	// differs from a base preset. Default fp32.
	Numerics engine.Numerics `yaml:"numerics"`
	// Temperature divides the logits, above 0. Default 1: the policy itself.
	Temperature float64 `yaml:"temperature" default:"1" range:"(0,100]"`
	// TopP keeps the smallest set of tokens with this mass, (0, 1].
	TopP float64 `yaml:"top_p" default:"1" range:"(0,1]"`
	// TopK keeps this many tokens; 0 keeps all.
	TopK int `yaml:"top_k" range:"[0,2^20]"`
	// MaxTokens bounds a response, stop token included, 1 or more.
	MaxTokens int `yaml:"max_tokens" default:"64" range:"[1,2^16]"`
	// Prompts is the number of prompts per step, 1 or more.
	Prompts int `yaml:"prompts" default:"16" range:"[1,2^16]"`
	// Group is the number of responses per prompt, 1 or more.
	Group int `yaml:"group" default:"8" range:"[1,2^16]"`
	// Slots is how many responses are decoded at a time; a finished one is
	// replaced at once. 0 means all, the default. It changes no bit unless the
	// numerics depend on the batch.
	Slots int `yaml:"slots" range:"[0,2^16]"`
	// PrefillChunk is the largest number of tokens of a prompt that one pass reads
	// together with the decoding of other responses; 0 reads prompts whole, the default.
	// Like slots, it changes no bit unless the numerics depend on the batch.
	PrefillChunk int `yaml:"prefill_chunk" range:"[0,2^16]"`
	// PrefixCache makes responses share the keys and values of what their prompts have in
	// common: a group's prompt is read once. Where the numerics decode as they score that
	// changes no bit and is always done, unless kv_retention is heavy_hitter. true does it
	// with any others, whose bits it changes.
	PrefixCache bool `yaml:"prefix_cache"`
	// SharedPrefixCache keeps the keys and values of prompts over requests and steps. Nil
	// where the recipe has no such section: nothing outlives a step.
	SharedPrefixCache *SharedPrefixCache `yaml:"shared_prefix_cache"`
	// RecomputedRoutes records, for a partial response that is read again after a weight sync,
	// the experts of that pass next to the log-probs as its tokens were sampled: a server whose
	// retracted requests return both (miles #3277). A replay of routes (r3) then follows experts
	// that did not compute the recorded log-probs. false, the default, keeps the routes of the
	// pass that sampled. It needs a schedule that reads partial responses again.
	RecomputedRoutes bool `yaml:"recomputed_routes"`
	// WeightSync is a weight sync that is not whole. Nil where the recipe has no such section:
	// every sync brings every tensor to every worker.
	WeightSync *WeightSync `yaml:"weight_sync"`
	// LogProbs is which log-prob the engine returns: processed (of the distribution it
	// sampled from), raw (before temperature and truncation, as some servers do) or
	// tempered (after the temperature, not renormalised over what top_k and top_p kept:
	// against a learner over the whole vocabulary that hides the truncation). simulate
	// measure tests for the first.
	LogProbs string `yaml:"log_probs" default:"processed" oneof:"processed raw tempered"`
	// KVRetention compresses the KV cache while responses are decoded. Nil where
	// the recipe has no such section: everything stays. Evaluations in the rollout
	// engine's numerics compress too.
	KVRetention *KVRetention `yaml:"kv_retention"`
	// Fleet lists further engines in addition to the one of numerics, each with its share of a
	// step's responses: a mixed fleet, as FlashRL runs half of its workers in bf16. A
	// token's log-prob is that of the engine that sampled it.
	Fleet []FleetMember `yaml:"fleet"`
	// KVScales are fixed scales of a KV cache in fp8 without scales of its own.
	KVScales KVScales `yaml:"kv_scales"`
	// Noise is added to the norms of the rollout engine's copy of the weights.
	Noise Noise `yaml:"noise"`
	// Pool is a training set of a fixed size. Nil where the recipe has no such section:
	// the task draws a new prompt every time.
	Pool *Pool `yaml:"pool"`
	// DynamicSampling refuses groups with zero advantage and samples others in their
	// place. Nil where the recipe has no such section: all are trained. It runs sync
	// and lag on the virtual clock.
	DynamicSampling *DynamicSampling `yaml:"dynamic_sampling"`
	// Speculative drafts tokens for the engine to verify. Nil where the recipe has
	// no such section: it draws each by itself. Evaluations do without.
	Speculative *Speculative `yaml:"speculative"`
	// LearnReplies trains on what a tool wrote as if the policy had: the mistake to
	// compare with. Its rollout log-probs are 0, as a server that did not draw it has
	// none.
	LearnReplies bool `yaml:"learn_replies"`
	// Fusion mixes another model's logits into every decode step. Nil where the recipe
	// has no such section: the engine samples by its own.
	Fusion *Fusion `yaml:"fusion"`
}

// DynamicSampling is DAPO's (2503.14476, section 3.2): a group whose responses are all
// right or all wrong has no gradient, and another prompt takes its place until the
// batch is whole.
type DynamicSampling struct {
	// Refuse is equal (all responses right, or all wrong: DAPO), equal_reward (all with
	// the same reward, which lengths and formats may part) or solved (all right:
	// CompassMax's first stage of zero-variance elimination, 2512.07710).
	Refuse string `yaml:"refuse" default:"equal" oneof:"equal equal_reward solved"`
	// MaxBatches is how many batches, the one that is trained among them, are sampled for
	// an update at most; after so many refusals groups are taken as they are. verl's
	// max_num_gen_batches, which stops the run there.
	MaxBatches int `yaml:"max_batches" default:"10" range:"[1,2^16]"`
}

// Values of DynamicSampling.Refuse.
const (
	RefuseEqual       = "equal"
	RefuseEqualReward = "equal_reward"
	RefuseSolved      = "solved"
)

// Speculative is speculative decoding with a drafter that may be stale (ReSpec,
// 2510.26475): its tokens are read in one pass, and the longest beginning that
// passes a test is kept.
type Speculative struct {
	// Drafter is self, the policy at an older version, or the name of a checkpoint with
	// the model's vocabulary: shipped, or a folder.
	Drafter string `yaml:"drafter" default:"self"`
	// Numerics is how the drafter computes, as under rollout. Nil where it is not
	// given: the rollout engine's.
	Numerics *engine.Numerics `yaml:"numerics"`
	// Draft is the number of tokens drafted for a pass, 1 to 64.
	Draft int `yaml:"draft" default:"4" range:"[1,64]"`
	// Refresh is the number of steps after which a drafter that is the policy takes up the
	// rollout engine's weights; 0 never: it keeps the initial ones.
	Refresh int `yaml:"refresh" range:"[0,2^24]"`
	// Verify is exact (accept with min(1, p/q), else draw from (p-q)+: the distribution is
	// the rollout engine's own), lossy (accept with min(1, (1+tau)·p/q)) or greedy (accept
	// the rollout engine's most likely token, else draw from p).
	Verify string `yaml:"verify" default:"exact" oneof:"exact lossy greedy"`
	// Tau is lossy's leniency, 0 or more. Default 0: exact.
	Tau float64 `yaml:"tau" range:"[0,inf)"`
	// LogProbs is what is recorded as the rollout's log-prob: verifier, drafter (on
	// accepted tokens, the mistake of a server that mixes its models up) or law (of the
	// distribution that the test gives the token).
	LogProbs string `yaml:"log_probs" default:"verifier" oneof:"verifier drafter law"`
	// Adaptive chooses at every step how many tokens to draft, up to draft, by the speed
	// predicted from the acceptance of the last step that drafted; none where no number is
	// faster. Whenever the drafter changes, draft is tried again.
	Adaptive bool `yaml:"adaptive"`
	// Cost is what drafting one token costs, as a share of a pass of the rollout engine, 0
	// or more; 0 takes the ratio of the two models' bits of weights, which decoding has to
	// read.
	Cost float64 `yaml:"cost" range:"[0,inf)"`
	// Distill trains the drafter on the rollouts.
	Distill Distill `yaml:"distill"`
}

// Distill pulls the drafter towards the rollout engine's recorded distributions,
// Σ max(R, 0)·KL(p‖q) per token and response (ReSpec, 2510.26475; the weights
// are this project's).
type Distill struct {
	// Every is the number of steps between updates of the drafter; 0 never.
	Every int `yaml:"every" range:"[0,2^24]"`
	// LR is their learning rate, above 0.
	LR float64 `yaml:"lr" default:"1e-3" range:"(0,10]"`
}

// Values of Speculative's words.
const (
	DrafterSelf = "self"

	VerifyExact  = "exact"
	VerifyLossy  = "lossy"
	VerifyGreedy = "greedy"

	VerifierLogProbs = "verifier"
	DrafterLogProbs  = "drafter"
	LawLogProbs      = "law"
)

// KVRetention says which part of the KV cache stays while a response is decoded.
// Prompts are read with full attention. At a length of L positions there stay
// min(L, max(sinks+recent, budget or ⌈keep·L⌉)); what has gone never comes back.
// Every response token records which positions it saw.
type KVRetention struct {
	// Policy is window, which keeps the first positions and the newest (StreamingLLM,
	// 2309.17453), or heavy_hitter, which keeps of the rest those that have received the
	// most attention, by layer and key head (H2O, 2306.14048).
	Policy string `yaml:"policy" default:"window" oneof:"window heavy_hitter"`
	// Keep is the share of the positions that stay, [0, 1]; 1 keeps all and changes
	// no bit. Default 0.5, as in Shadow Mask Distillation (2605.06850).
	Keep float64 `yaml:"keep" default:"0.5" range:"[0,1]"`
	// Budget, above 0, is their number, in the place of keep.
	Budget int `yaml:"budget" range:"[0,2^16]"`
	// Sinks is the number of first positions that always stay. Default 4
	// (StreamingLLM).
	Sinks int `yaml:"sinks" default:"4" range:"[0,2^16]"`
	// Recent is the number of newest positions that always stay, the one being read
	// included, 1 or more.
	Recent int `yaml:"recent" default:"8" range:"[1,2^16]"`
}

// Values of KVRetention.Policy.
const (
	retainWindow      = "window"
	retainHeavyHitter = "heavy_hitter"
)

// Retention says over which positions the learner attends.
type Retention struct {
	// Replay makes the learner's policies (current, old, reference) see the positions that
	// were left in the rollout engine's cache, each token its own, in gradients too: its
	// shadow. The term shadow_distillation then draws the dense policy after it. A teacher
	// stays dense, since its layers are its own, and so do evaluations in the learner's
	// numerics. Source: 2605.06850. In a model with sparse attention it replays the positions
	// that the index of each layer chose in the rollout engine, prompts included, as routing
	// replay does with experts.
	Replay bool `yaml:"replay"`
}

// Values of Rollout.LogProbs.
const (
	ProcessedLogProbs = "processed"
	RawLogProbs       = "raw"
)

// Responses is the number of responses per step.
func (r Rollout) Responses() int { return r.Prompts * r.Group }

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
