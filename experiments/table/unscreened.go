package table

// Reason says why a registered method does not stand in the screen.
type Reason struct {
	// Field and Method are where a recipe names it, and how.
	Field, Method string
	// Why it cannot act in the screen's setting, or which method it is the twin of there.
	Why string
}

// tunedLater is that of a method whose effects are in the tuned table alone.
const tunedLater = "it was added after the published screen; the table at tuned learning rates has it, on addition"

// distils is that of a method with a teacher.
const distils = "it distils a teacher, and the only one here is the policy's own start, which leaves it where it is"

// Unscreened are the methods that the screen leaves out.
var Unscreened = []Reason{
	{"correction.weights", "none", "it is the control"},
	{"correction.weights", "segment_tis", "the task has one turn, so that a segment is the response: the twin of geometric_tis"},
	{"correction.masks", "segment_mask", "the task has one turn, so that a segment is the response: the twin of geometric at its bounds"},
	{"correction.masks", "token_k1", "with bounds that are each other's inverse it is the twin of token_mask"},
	{"correction.masks", "seq_sum_k1", "with bounds that are each other's inverse it is the twin of sequence_mask"},
	{"correction.masks", "tail_mask", "an instrument that says which tokens a mask's effect comes from, no method"},
	{"loss", "ref_kl", distils},
	{"correction.masks", "tv_divergence", tunedLater},
	{"correction.masks", "estr", tunedLater},
	{"correction.masks", "truncated", tunedLater},
	{"correction.masks", "last_version", "the rows have no partial rollouts, so that a response has one version"},
	{"loss", "ce_gppo", tunedLater},
	{"loss", "fipo", tunedLater},
	{"loss", "flowrl", tunedLater},
	{"loss", "gvpo", tunedLater},
	{"loss", "iw_opd", distils},
	{"loss", "real", tunedLater},
	{"loss", "sat", tunedLater},
	{"advantage", "spo", tunedLater},
	{"advantage", "rae", tunedLater},
	{"advantage", "max_rl", tunedLater},
	{"advantage", "gigpo", "the task has one turn, where both of its parts are grpo's advantage: with weights of 0.5 the twin of grpo"},
	{"advantage", "turn_level", "the task has one turn: the twin of grpo"},
	{"advantage", "tir_optimal_token_baseline", "the task calls no tool: the twin of optimal_token_baseline"},
	{"advantage", "vine", "it reads the policy's values of prefixes, which cost generated tokens that no other row has"},
	{"terms", "distill_k2", distils},
	{"terms", "gkd", distils},
	{"terms", "jsd", distils},
	{"terms", "shadow_distillation", "it draws the dense policy after a compressed cache's, and no stressor compresses the cache"},
	{"terms", "positive_nll", tunedLater},
	{"terms", "adaptive_entropy", tunedLater},
	{"terms", "opd_topk", distils},
	{"terms", "rlsd", "it reads a teacher, and the only one here is the policy's own start"},
	{"terms", "sdar", distils},
	{"kl", "none", "it is the control"},
	{"routing.replay", "keep_routing", "it differs from r3 in a reference's pass, and no method of a screen's row has both: the twin of r3"},
}
