package loss

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
)

// Aggregation turns per-token losses into one number: loss = Σ agg_{i,t}·loss_{i,t}
// over the tokens of the active mask. Every published form gives one weight per
// response. In a recipe it is one word, with a fixed horizon after a colon and
// the mask that denominators count after an at sign:
//
//	token-mean    seq-mean-token-sum-norm:1024    token-mean@pre    seq-mean-token-mean@pre-rows
//
// With M tokens, N non-empty responses of T_i tokens, B responses and horizon H:
//
//	token-mean               1/M             verl, DAPO (2503.14476); TRL's names bnpo, dapo
//	token-sum                1               verl
//	seq-mean-token-sum       1/N             verl
//	seq-mean-token-sum-norm  1/(N·H)         verl, for Dr. GRPO (2503.20783)
//	seq-mean-token-mean      1/(N·T_i)       verl, GRPO (2402.03300)
//	token-sum-norm           1/H             forks of verl from DAPO's days (Archer)
//	seq-sum-token-mean       1/T_i           slime, whose caller divides by the batch
//	seq-all-token-sum        1/B             a mean over all rows, empty ones too
//	grpo                     1/(B·T_i)       TRL: empty responses count
//	dr_grpo                  1/(B·H)         TRL
//	prompt-mean              1/(P·M_p)       SkyRL: mean over P prompts of token means
//	token-mean-legacy        1/(K·M_k)       SkyRL's earlier token mean: over K micro-batches of H responses, what is left over has 0
//
// The zero value is token-mean over the mask after rejection.
type Aggregation struct {
	// Mode is one of the names above; empty is token-mean.
	Mode string
	// Horizon is H of the forms that have one; 0 is the longest response,
	// which changes from batch to batch, and 1 response of token-mean-legacy.
	Horizon int
	// Pre counts tokens and responses before the correction stage rejected any:
	// AReaL and slime do, verl counts what is left. The choice changes the step
	// size by one over the keep rate.
	Pre bool
	// PreRows counts responses before rejection and the tokens of each after it
	// (ROLL): a response that lost a token keeps its share, one that lost all
	// still counts.
	PreRows bool
	// Tokens and Sequences are M and N of the whole step when the batch is one
	// part of it (micro-batches, ranks); 0 counts the batch. Ranks is the
	// number of parts whose gradients are averaged afterwards, as verl's dp_size.
	Tokens, Sequences, Ranks int
}

// Aggregations lists the names a recipe may use.
func Aggregations() []string {
	return []string{"token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-sum-norm", "seq-mean-token-mean",
		"token-sum-norm", "seq-sum-token-mean", "seq-all-token-sum", "grpo", "bnpo", "dapo", "dr_grpo", "prompt-mean", "token-mean-legacy"}
}

// String is the recipe's word.
func (a Aggregation) String() string {
	s := a.mode()
	if a.Horizon != 0 {
		s += ":" + strconv.Itoa(a.Horizon)
	}
	switch {
	case a.Pre:
		s += "@pre"
	case a.PreRows:
		s += "@pre-rows"
	}
	return s
}

func (a Aggregation) mode() string { return cmp.Or(a.Mode, "token-mean") }

// MarshalText writes the recipe's word.
func (a Aggregation) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the recipe's word.
func (a *Aggregation) UnmarshalText(text []byte) error {
	word, denom, hasDenom := strings.Cut(string(text), "@")
	mode, horizon, hasHorizon := strings.Cut(word, ":")
	read := Aggregation{Mode: mode}
	if hasDenom {
		if denom != "pre" && denom != "post" && denom != "pre-rows" {
			return fmt.Errorf("aggregation %q: after @ comes pre, post or pre-rows (rejection)", text)
		}
		read.Pre, read.PreRows = denom == "pre", denom == "pre-rows"
	}
	if hasHorizon {
		h, err := strconv.Atoi(horizon)
		if err != nil || h < 1 {
			return fmt.Errorf("aggregation %q: the horizon must be a whole number above 0", text)
		}
		read.Horizon = h
	}
	if err := read.Validate(); err != nil {
		return err
	}
	*a = read
	return nil
}

// Validate reports a name that is not known and options the form cannot honour.
func (a Aggregation) Validate() error {
	var faults []error
	mode := a.mode()
	if !slices.Contains(Aggregations(), mode) {
		return fmt.Errorf("aggregation: %w", method.UnknownName(mode, Aggregations()))
	}
	if a.Horizon != 0 && !slices.Contains([]string{"seq-mean-token-sum-norm", "token-sum-norm", "dr_grpo", "token-mean-legacy"}, mode) {
		faults = append(faults, fmt.Errorf("aggregation %s takes no horizon", mode))
	}
	if a.PreRows && (a.Pre || !strings.HasPrefix(mode, "seq-mean")) {
		faults = append(faults, fmt.Errorf("aggregation %s takes no pre-rows: only the seq-mean forms count rows after rejection", mode))
	}
	if a.Horizon < 0 || a.Tokens < 0 || a.Sequences < 0 || a.Ranks < 0 {
		faults = append(faults, fmt.Errorf("aggregation %s: counts must not be negative", mode))
	}
	if a.Ranks > 1 && (slices.Contains([]string{"token-mean", "bnpo", "dapo"}, mode) && a.Tokens == 0 || strings.HasPrefix(mode, "seq-mean") && a.Sequences == 0) {
		faults = append(faults, fmt.Errorf("aggregation %s over %d ranks needs the count of the whole step", mode, a.Ranks))
	}
	return errors.Join(faults...)
}

// RowWeights writes agg_i, the weight of every active token of response i, to
// dst of length B. A batch with nothing to sum gets zeros. Where the form counts
// prompts, groups is its working memory.
func (a Aggregation) RowWeights(dst []float64, in *batch.Batch, groups *batch.Groups) error {
	return a.rowWeights(dst, in, either(a.Pre, in.Mask, in.Active()), groups)
}

// rowWeights is RowWeights with the mask that denominators count.
func (a Aggregation) rowWeights(dst []float64, in *batch.Batch, mask []bool, groups *batch.Groups) error {
	if err := a.Validate(); err != nil {
		return err
	}
	tokens, rows, longest := countRows(dst, in, mask) // dst holds T_i until the weights replace it
	if tokens == 0 {
		clear(dst)
		return nil
	}
	tokens = cmp.Or(float64(a.Tokens), tokens)
	switch {
	case a.Sequences > 0:
		rows = float64(a.Sequences)
	case a.PreRows:
		rows = 0
		for i := range in.Len() {
			from, to := in.Span(i)
			rows += count(slices.Contains(in.Mask[from:to], true))
		}
	}
	horizon := float64(cmp.Or(a.Horizon, longest))
	if a.mode() == "prompt-mean" {
		return promptMean(dst, in, groups)
	}
	if a.mode() == "token-mean-legacy" {
		legacyMean(dst, max(a.Horizon, 1))
		return nil
	}
	ranks, all := float64(max(a.Ranks, 1)), float64(in.Len())
	for i, length := range dst {
		switch a.mode() {
		case "token-mean", "bnpo", "dapo":
			dst[i] = ranks / tokens
		case "token-sum":
			dst[i] = ranks
		case "seq-mean-token-sum":
			dst[i] = ranks / rows
		case "seq-mean-token-sum-norm":
			dst[i] = ranks / (rows * horizon)
		case "seq-mean-token-mean":
			dst[i] = ranks / (rows * (length + 1e-8))
		case "token-sum-norm":
			dst[i] = ranks / horizon
		case "seq-sum-token-mean":
			dst[i] = ranks / max(length, 1)
		case "seq-all-token-sum":
			dst[i] = ranks / all
		case "grpo":
			dst[i] = ranks / (all * max(length, 1))
		case "dr_grpo":
			dst[i] = ranks / (all * horizon)
		}
	}
	return nil
}

// countRows writes the length of every response under the mask to lengths, and
// returns the tokens, the non-empty responses and the length of the longest
// response, masked tokens included.
func countRows(lengths []float64, in *batch.Batch, mask []bool) (tokens, rows float64, longest int) {
	for i := range lengths {
		from, to := in.Span(i)
		lengths[i] = 0
		for _, m := range mask[from:to] {
			lengths[i] += count(m)
		}
		tokens += lengths[i]
		rows += count(lengths[i] > 0)
		longest = max(longest, to-from)
	}
	return tokens, rows, longest
}

// promptMean replaces the lengths in dst by 1/(P·M_p).
func promptMean(dst []float64, in *batch.Batch, groups *batch.Groups) error {
	if err := in.Require(batch.Group); err != nil {
		return err
	}
	groups.Find(in.Group)
	prompts := float64(groups.Len())
	for rows := range groups.All() {
		tokens := 0.0
		for _, i := range rows {
			tokens += dst[i]
		}
		for _, i := range rows {
			dst[i] = 1 / (prompts * max(tokens, 1))
		}
	}
	return nil
}

// legacyMean replaces the lengths in dst by 1/(K·M_k) over K micro-batches of that many
// responses, or one of all. Responses beyond the last whole micro-batch get 0.
func legacyMean(dst []float64, size int) {
	size = min(size, len(dst))
	whole := len(dst) / size
	for k := range whole {
		part := dst[k*size : (k+1)*size]
		tokens := 0.0
		for _, length := range part {
			tokens += length
		}
		for i := range part {
			part[i] = 1 / (float64(whole) * max(tokens, 1))
		}
	}
	clear(dst[whole*size:])
}
