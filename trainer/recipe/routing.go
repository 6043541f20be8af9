package recipe

import (
	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"

	"go.yaml.in/yaml/v4"
)

// replays are the routing replays that recipes name under routing.replay, and
// gatings the ways of weighing replayed experts under routing.gates. They have
// no parameters of their own: package learner does them.
var (
	replays = []method.Spec{
		{
			Name: ReplayR2, Group: "routing replay", Unit: method.Token,
			Does:     "Replays, in every gradient step, the experts that the trainer chose when it scored old.",
			When:     "Use it for a mixture of experts with several updates per batch; differences in routing between rollout engine and trainer remain.",
			Source:   "GSPO's routing replay, arXiv 2507.18071; Stabilizing RL, arXiv 2512.01374",
			Formula:  "I = the top-k of the learner's pass that scored old; g_j = 1[j∈I]·exp(s_j)/Σ_{l∈I} exp(s_l) with the current logits s, in the gradient steps",
			Gradient: "through the gates: ds_j = g_j·(dg_j − Σ_{l∈I} g_l·dg_l) on I, 0 outside",
			Needs:    batch.Columns{batch.RoutesOld}, Example: routingExample,
		},
		{
			Name: ReplayR3, Group: "routing replay", Unit: method.Token,
			Does:     "Replays the experts that the rollout engine chose, when the trainer scores old and in every gradient step.",
			When:     "Use it for a mixture of experts whose rollout engine routes tokens differently and can record its routes.",
			Source:   "Rollout Routing Replay, arXiv 2510.11370",
			Formula:  "I = the rollout engine's top-k; g as with r2, when the learner scores old (and a reference) and in the gradient steps",
			Gradient: "as r2",
			Needs:    batch.Columns{batch.RoutesRoll}, Example: routingExample,
		},
		{
			Name: ReplayKeep, Group: "routing replay", Unit: method.Token,
			Does:     "Replays the rollout engine's experts in every forward pass of the policy; the reference model keeps its own routing.",
			When:     "Use it in place of r3 when a KL term to a reference should use the reference's own experts.",
			Source:   "Keep Routing, DeepSeek-V3.2, arXiv 2512.02556, section 3.1",
			Formula:  "r3 in every forward pass of the policy, old and current; the reference routes natively",
			Gradient: "as r2",
			Needs:    batch.Columns{batch.RoutesRoll}, Example: routingExample,
			Reconstruction: "the paper enforces the sampling paths in training and says nothing of the reference, which has other weights: it is left to its own router here; with r3 it follows them too",
		},
	}
	gatings = []method.Spec{{
		Name: GatesRecorded, Group: "replayed gates", Unit: method.Token,
		Does:     "Uses the gate values that the rollout engine recorded, with the gradient of the trainer's own gates.",
		When:     "Use it with routing replay, to see how much mismatch the gate values add to the choice of experts.",
		Source:   "the ids-and-gates arm compared with R3, arXiv 2510.11370; straight-through: arXiv 1308.3432",
		Formula:  "g = recorded + live(s) − sg[live(s)]: the recorded gate values per token, layer and rank; live(s) the softmax of the current logits over I",
		Gradient: "that of the live gates: ds_j = live_j·(dg_j − Σ_{l∈I} live_l·dg_l) on I; dg is taken where the recorded gates put the network",
		Needs:    batch.Columns{batch.GatesRoll}, Example: routingExample,
		Reconstruction: "R3 records indices only; which gradient goes with replayed values is not published. Without the straight-through term the router would learn nothing",
	}}
)

// routingExample is recomputed by a test.
const routingExample = `s = [1 0.5 0.2 -1], I = {0, 3} recorded with the gates [0.7 0.3]
live gates [0.880797 0.119203], recorded gates [0.7 0.3]
dg = [1 0]: ds = [0.104994 0 0 -0.104994] with either`

// appendSpecs lists methods without parameters.
func appendSpecs(all []Method, field string, specs []method.Spec) []Method {
	for _, s := range specs {
		if s.Aliases == nil {
			s.Aliases = []string{}
		}
		all = append(all, Method{Spec: s, Field: field, Defaults: Defaults{&yaml.Node{Kind: yaml.MappingNode}}})
	}
	return all
}
