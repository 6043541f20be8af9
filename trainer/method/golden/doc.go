// Package golden compares the trainer with what other code bases compute.
//
// Under testdata/golden lie about 1,800 cases: inputs, parameters and outputs
// of functions of verl and its recipes, SkyRL, TRL, AReaL, prime-rl, slime, ROLL, ms-swift,
// NeMo-RL, open-instruct and of papers' own repositories. Every case is owned by one package of the trainer
// (owners.go). That package's Golden test must compare every output of it, or
// the case, or the output, must be in its table of listings with a reason.
// Nothing is skipped silently:
//
//	func TestGolden(t *testing.T) {
//		golden.Run(t, "trainer/method/loss", []golden.Matcher{
//			{File: "verl/policy_loss_vanilla*.json", Match: matchVanilla},
//		}, golden.Listings{
//			{File: "verl/agg_loss*.json", Output: "loss", Reason: "..."},
//		})
//	}
//
//	func matchVanilla(c *golden.Case, k *golden.Check) {
//		b := golden.Batch(c.Inputs.Matrix("response_mask"))
//		b.Logp = c.Inputs.Flat("log_prob")
//		...
//		k.Scalar("loss", out.Loss)
//		k.Vector("grad_log_prob", out.DLogp)
//	}
//
// A matcher reads parameters, never names, so that it also serves the second
// set of cases that the environment variable GOLDEN_DIR may point to. Files that only
// the second set has, and that nothing here answers for, are skipped; go test -v names
// them.
//
// What it is not: it is imported by tests only, and computes nothing.
package golden
