package correction

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/trace"
)

// LastVersion drops the tokens of a response that older weights sampled than those
// that ended it: of a response that was interrupted and resumed only the last part trains.
//
// Rewards, baselines and lengths are those of the whole response. slime and miles clear
// the mask at every resumption, also of a response that had ended by then, which then
// trains on nothing; here its last part remains.
type LastVersion struct{}

var lastVersionSpec = method.Spec{
	Name: "last_version", Aliases: []string{"mask_offpolicy_in_partial_rollout"}, Unit: method.Token,
	Does:    "Drops the tokens of a response that older weights sampled than its last token.",
	When:    "Use it with partial rollouts, if no token of a resumed response should be more off-policy than its last part.",
	Source:  "slime and miles --mask-offpolicy-in-partial-rollout",
	Formula: "keep = 1[version_t = version of the response's last token]",
	Needs:   batch.Columns{batch.Version},
}

// Reject clears the tokens before the last version of their response.
func (*LastVersion) Reject(keep []bool, in *Input) error {
	if err := in.Require(batch.Version); err != nil {
		return err
	}
	for i := range in.Len() {
		last := in.lastVersion(i)
		for n := range in.Where(i, in.Mask) {
			if in.Version[n] < last {
				keep[n] = false
			}
		}
	}
	return nil
}

// lastVersion is the newest version that sampled a token of response i.
func (in *Input) lastVersion(i int) (last int32) {
	for n := range in.Where(i, in.Mask) {
		last = max(last, in.Version[n])
	}
	return last
}

func (*LastVersion) rule(in *Input) rule {
	last := make([]float64, in.Tokens())
	for i := range in.Len() {
		for n := range in.Where(i, in.Mask) {
			last[n] = float64(in.lastVersion(i))
		}
	}
	return rule{lines: []trace.Line{{Name: "version", Value: func(n int) float64 { return float64(in.Version[n]) }},
		{Name: "last", Value: func(n int) float64 { return last[n] }}}, keep: "not(above(last, version))"}
}
