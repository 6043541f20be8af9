package recipe

import (
	"strings"
	"testing"
)

// A weight that the loss contains already is refused, and a policy-gradient
// preset with a loss that has a ratio; what verl does is accepted.
func TestCountedTwice(t *testing.T) {
	for _, tc := range []struct{ text, fault string }{
		{"correction: {mode: bypass, weights: token_tis}", "ppo_clip is that to the rollout engine"},
		{"correction: {mode: bypass, weights: token_tis}\nloss: gspo", "gspo is that to the rollout engine"},
		{"correction: {mode: bypass, weights: token_tis}\nloss: reinforce", ""},
		{"correction: {mode: bypass, weights: {name: icepop, binary: true}}", ""},
		{"correction: {mode: bypass, masks: [token_mask]}", ""},
		{"correction: {mode: bypass}", ""},
		{"correction: {weights: token_tis}", ""},
		{"correction: {weights: token_tis}\nloss: decoupled_ppo", "set loss.behave to none"},
		{"correction: {weights: token_tis}\nloss: mipu", "set loss.behave to none"},
		{"correction: {weights: token_tis}\nloss: {name: decoupled_ppo, behave: none}", ""},
		{"correction: {weights: sequence_tis}\nloss: a3po", "set loss.behave to none"},
		{"correction: {weights: token_tis}\nloss: acr", "use weights none"},
		{"loss: acr", ""},
		{"anchor: mixture\ncorrection: {weights: token_tis}", "use weights none"},
		{"anchor: mixture\nloss: acr", "reads the anchor alone"},
		{"anchor: mixture\nloss: decoupled_ppo", "use none"},
		{"anchor: mixture\nloss: {name: decoupled_ppo, behave: none}", ""},
		{"anchor: mixture\nrouting: {replay: r3}", "use anchor behaviour"},
		{"anchor: mixture", ""},
		{"correction: bypass_pg_is", "set loss to reinforce"},
		{"correction: bypass_pg_geo_rs", "set loss to reinforce"},
		{"correction: {preset: bypass_pg_geo_rs, clamp: 10}", "set loss to reinforce"},
		{"correction: bypass_pg_geo_rs\nloss: reinforce", ""},
		{"correction: bypass_ppo_clip_geo_rs", ""},
		{"correction: bypass_pg_token_icepop\nloss: gpg", ""},
		{"loss: ref_kl\nteacher: some/folder", ""},
	} {
		_, err := Parse("recipe.yaml", []byte(tc.text+"\n"))
		switch {
		case tc.fault == "" && err != nil:
			t.Errorf("%q: %v", tc.text, err)
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%q: %v, want %q", tc.text, err, tc.fault)
		}
	}
}
