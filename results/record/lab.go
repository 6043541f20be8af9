package record

// UpdateTokens and FlipsResponses are how many the lab shows.
const (
	UpdateTokens   = 12
	FlipsResponses = 10
)

// Update is what three policies say of some tokens through one training step: the
// sampler mu, the learner before the step's first update (old), and after each.
type Update struct {
	// Recipe, Set and Seed say of which run, Step at which step, from 1.
	Recipe string   `json:"recipe"`
	Set    []string `json:"set"`
	Seed   uint64   `json:"seed"`
	Step   int      `json:"step"`
	// Rollout and Learner name the numerics.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	// Updates is the number of gradient steps; columns with an entry per update begin
	// with 0, before the first.
	Updates int `json:"updates"`
	// Low and High are the band of the clip, Caps those of the truncated weights.
	Low  float64   `json:"low"`
	High float64   `json:"high"`
	Caps []float64 `json:"caps"`
	// Count is the number of the batch's tokens, OutsideMerged and OutsideDecoupled the
	// shares of them whose ratio lies outside the band, per update.
	Count            int       `json:"count"`
	OutsideMerged    []float64 `json:"outside_merged"`
	OutsideDecoupled []float64 `json:"outside_decoupled"`
	// Tokens are some of them, by the size of the engines' ratio.
	Tokens []UpdatedToken `json:"tokens"`
}

// UpdatedToken is one token of an Update.
type UpdatedToken struct {
	// Response and Position say which token of the batch it is, Token which word.
	Response int    `json:"response"`
	Position int    `json:"position"`
	Token    string `json:"token"`

	Advantage float64 `json:"advantage"`
	LogMu     float64 `json:"log_mu"`
	LogOld    float64 `json:"log_old"`
	// LogNow is of the weights after each update.
	LogNow []float64 `json:"log_now"`
	// Engine is old over mu; Staleness is now over old, Merged now over mu.
	Engine    float64   `json:"engine"`
	Staleness []float64 `json:"staleness"`
	Merged    []float64 `json:"merged"`
	// Weight is Engine truncated at each of the caps.
	Weight []float64 `json:"weight"`
	// In either mode, after each update: what the loss does with the token, and every
	// formula of it with the token's figures.
	MergedBranch    []string   `json:"merged_branch"`
	DecoupledBranch []string   `json:"decoupled_branch"`
	MergedLines     [][]string `json:"merged_lines"`
	DecoupledLines  [][]string `json:"decoupled_lines"`
}

// Flips is where two engines sent the tokens of some responses, and what of their gap
// is left as the learner follows the rollout engine's routes.
type Flips struct {
	// Rollout and Learner name the numerics.
	Rollout string `json:"rollout"`
	Learner string `json:"learner"`
	// Recipe, Set and Seed say what was sampled.
	Recipe string   `json:"recipe"`
	Set    []string `json:"set"`
	Seed   uint64   `json:"seed"`
	// Count is the number of tokens measured. The exact KL is with the learner's own
	// routes, with the rollout engine's experts, and with its experts and gates.
	Count      int     `json:"count"`
	KLFree     float64 `json:"kl_free"`
	KLIDs      float64 `json:"kl_ids"`
	KLIDsGates float64 `json:"kl_ids_gates"`
	// FlippedTokens is the share of tokens that met another expert in some layer, and
	// FlippedDecisions that of decisions.
	FlippedTokens    float64 `json:"flipped_tokens"`
	FlippedDecisions float64 `json:"flipped_decisions"`
	// Layers is the depth. Tokens are the tokens of the responses shown, one after the
	// other, the first of each at Starts.
	Layers int      `json:"layers"`
	Starts []int    `json:"starts"`
	Tokens []string `json:"tokens"`
	// Flip and Margin are [layer][token]: whether the learner chose other experts, and
	// by how much its last chosen one beat the first left out.
	Flip   [][]bool    `json:"flip"`
	Margin [][]float64 `json:"margin"`
	// By token: log-prob of the learner less the rollout engine's, in the three ways.
	DeltaFree     []float64 `json:"dlogp_free"`
	DeltaIDs      []float64 `json:"dlogp_ids"`
	DeltaIDsGates []float64 `json:"dlogp_ids_gates"`
}
