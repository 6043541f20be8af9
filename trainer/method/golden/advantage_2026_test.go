package golden

import (
	"slices"

	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/reward"
)

// matchSPO starts from the case's distributions, each of its prompts being one.
func matchSPO(c *Case, k *Check) {
	b := Batch(c.Inputs.Matrix("mask"))
	b.Reward = c.Inputs.Flat("rewards")
	e := method.New[advantage.SPO]()
	e.Rho = c.Params.FloatOr("rho_value", e.Rho)
	prompts := len(b.Reward)
	state := method.AppendState(nil, c.Outputs.Flat("alpha0"), c.Outputs.Flat("beta0"), prompts)
	for i := range prompts {
		b.PromptID, state = append(b.PromptID, int64(i)), method.AppendState(state, i)
	}
	k.OK(e.SetState(state))
	if out := estimated(k, e, b); out != nil {
		k.Vector("advantages", masking(c, "advantages", b.Mask, out.Advantage))
		if c.Params.String("rho_type") == "constant" {
			alpha, beta := make([]float64, prompts), make([]float64, prompts)
			distributions := len(method.AppendState(nil, alpha, beta))
			k.OK(method.ReadState(e.AppendState(nil)[:distributions], alpha, beta))
			k.Vector("alpha", alpha)
			k.Vector("beta", beta)
		}
	}
}

// matchGiGPO makes a trajectory a response: each step is the state, as a token of the
// environment, and a generated token, which has the step's reward.
func matchGiGPO(c *Case, k *Check) {
	v := c.Params
	names, states, step := c.Inputs.Strings("traj"), Groups(c.Inputs.Strings("state")), c.Inputs.Flat("step")
	group, episode, scores := Groups(c.Inputs.Strings("traj_group")), c.Inputs.Flat("episode_scores"), c.Inputs.Flat("step_scores")
	b := &batch.Batch{Sampled: batch.Sampled{Offsets: []int{0}}}
	at := make([]int, len(names)) // the generated token of each step
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		for turn := 0; ; turn++ {
			j := -1
			for k := range names {
				if names[k] == name && int(step[k]) == turn {
					j = k
				}
			}
			if j < 0 {
				break
			}
			at[j] = len(b.Mask) + 1
			b.Mask, b.Token, b.Turn = append(b.Mask, false, true), append(b.Token, int32(states[j]), -1), append(b.Turn, int32(turn), int32(turn))
			b.TokenReward = append(b.TokenReward, 0, scores[j])
		}
		b.Offsets, b.Group, b.Reward = append(b.Offsets, len(b.Mask)), append(b.Group, group[i]), append(b.Reward, episode[i])
	}
	run := func(episodeWeight, stepWeight, clip float64) (advantages, returns []float64) {
		e := method.New[advantage.GiGPO]()
		e.Gamma, e.Norm, e.States, e.EpisodeWeight, e.StepWeight, e.Clip = v.Float("gamma"), v.String("method"), "batch", episodeWeight, stepWeight, clip
		if v.String("grouping") == "batch" {
			e.Episodes = "batch"
		}
		out := estimated(k, e, b)
		if out == nil {
			return nil, nil
		}
		for _, n := range at {
			advantages, returns = append(advantages, out.Advantage[n]), append(returns, out.Return[n])
		}
		return advantages, returns
	}
	const wide = 1e9
	part, returns := run(1, 0, wide)
	k.Vector("episode_rewards_norm", part)
	k.Vector("step_returns", returns)
	part, _ = run(0, 1, wide)
	k.Vector("step_rewards_norm", part)
	part, _ = run(v.Float("episode_reward_weight"), v.Float("step_reward_weight"), v.FloatOr("reward_clip", wide))
	k.Vector("advantages", part)
}

// matchPrime2026 makes each trace a response. Roles and episodes are what prime-rl adds to a
// group: hierarchical GRPO is GRPO in groups of one role, and RAE has an estimator per role.
func matchPrime2026(c *Case, k *Check) {
	v := c.Params
	solo := map[string]*advantage.RAE{}
	var got []float64
	for _, episodes := range c.Inputs["groups"].([]any) {
		b := outcomes(nil, 1)
		var names, members []string
		for _, e := range episodes.([]any) {
			episode := Values(e.(map[string]any))
			for _, trace := range episode["traces"].([]any) {
				t := Values(trace.(map[string]any))
				name := t.String("agent")
				names, members = append(names, name), append(members, name)
				if v.Has("episode_agents") && slices.Contains(v.Strings("episode_agents"), name) {
					members[len(members)-1] = name + episode.String("id")
				}
				addTrace(b, t)
			}
		}
		b.Group = make([]int, b.Len())
		var e advantage.Estimator
		switch v.String("algo") {
		case "rae":
			for i, name := range names {
				if solo[name] == nil {
					solo[name] = &advantage.RAE{Asymmetry: symmetric, Decay: v.Float("decay")}
				}
				var one batch.Batch
				b.Select(&one, []int{i})
				if out := estimated(k, solo[name], &one); out != nil {
					got = append(got, firstAdvantage(out, 0))
				}
			}
			continue
		case "max_rl":
			e = registered("max_rl")
		case "hierarchical_grpo":
			b.Group = Groups(members)
			e = &advantage.GRPO{Asymmetry: symmetric, Singleton: "zero"}
		case "grpo":
			e = &advantage.GRPO{Asymmetry: symmetric, Singleton: "zero"}
			if v.Has("length_penalty") {
				p, part := v.Sub("length_penalty"), make([]float64, b.Len())
				weights := &reward.LengthLinear{Output: p["num_output_tokens_weight"].(float64), Input: p["num_input_tokens_weight"].(float64), Turns: p["num_turns_weight"].(float64)}
				if !k.OK(weights.Part(part, b, nil)) {
					return
				}
				for i := range part {
					b.Reward[i] += part[i]
				}
			}
		}
		if out := estimated(k, e, b); out != nil {
			for i := range out.Len() {
				got = append(got, firstAdvantage(out, i))
			}
		}
	}
	k.Vector("advantages", got)
	for name, e := range solo {
		var baseline float64
		k.OK(method.ReadState(e.AppendState(nil), &baseline))
		k.Metric("baselines", name, baseline)
	}
}

// registered is an estimator of the registry.
func registered(name string) advantage.Estimator {
	e, err := advantage.Registry.Lookup(name)
	if err != nil {
		panic(err)
	}
	return e.New()
}

// addTrace adds a response with the trace's numbers of prompt tokens, generated tokens and turns.
func addTrace(b *batch.Batch, t Values) {
	for n := range t.Int("out") {
		b.Mask, b.Turn = append(b.Mask, true), append(b.Turn, int32(min(n, t.Int("turns")-1)))
	}
	b.Offsets, b.Reward = append(b.Offsets, len(b.Mask)), append(b.Reward, t.Float("reward"))
	b.Prompt = append(b.Prompt, make([]int32, t.Int("inp")))
}

// firstAdvantage is the advantage of the first token of response i.
func firstAdvantage(b *batch.Batch, i int) float64 {
	from, _ := b.Span(i)
	return b.Advantage[from]
}
