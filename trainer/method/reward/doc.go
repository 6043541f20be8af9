// Package reward turns the verdicts of a task's verifier into rewards.
//
// A reward is a sum of parts, one per Shaper: the outcome, a penalty on
// length, a bonus for the form, a small score per step of the working. A
// Scorer adds the parts up and keeps them separately as well, for estimators that
// normalise each kind on its own.
//
// What it is not: it makes no advantages (package advantage does), it knows no
// task and samples nothing. The one noisy part, the ternary judge, takes its
// noise from a hash of what it judges.
//
// # A short tour
//
//	outcome, penalty := method.New[reward.Exact](), method.New[reward.Uniform]()
//	scorer := reward.NewScorer(outcome, penalty)
//	verdicts[i] = task.Verify(prompt, response)   // one per response of b
//	err := scorer.Score(b, verdicts)              // fills b.Correct, b.Reward, b.RewardParts
//
// b.TokenReward is filled only where a part has a place within the response;
// the other parts then stand on the last generated token, so that its sum over
// a response is b.Reward. b.StepReward and b.OutcomeParts hold the two separately.
//
// Length is always the number of generated tokens, EOS included, without what
// an environment has put in between.
package reward
