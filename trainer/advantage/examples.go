package advantage

// examples are the worked examples of the specs: input, parameters, result; a
// bar separates responses. A test recomputes them; go test -run WorkedExamples
// -update writes them.
var examples = map[string]string{
	"gae": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0], V = [0.5 | 0.3 0.2 | 0.4]
positive_weight 1, gamma 1, lam 1, whiten true, holes carry, count_eps 1e-08
A = [1.1783 | 0.43412 -0.55816 | -1.0543]`,
	"gdpo": `R = [1 | 0 | 0]
positive_weight 1, weights [], std true, eps 1e-06, whiten token
A = [1.5 | -0.5 -0.5 | -0.5]`,
	"gpg": `R = [1 | 0 | 0]
positive_weight 1, f_norm 1
A = [2 | -1 -1 | -1]`,
	"grpo": `R = [1 | 0 | 0]
positive_weight 1, std true, eps 1e-06, singleton raw
A = [1.1547 | -0.57735 -0.57735 | -0.57735]`,
	"grpo_passk": `R = [1 | 0 | 0]
positive_weight 1, std true, eps 1e-06
A = [1.732 | 0 0 | 0]`,
	"maxrl": `R = [1 | 0 | 0]
positive_weight 1, eps 1e-06
A = [2 | -1 -1 | -1]`,
	"normalize": `R = [1 | 0 | 0]
positive_weight 1, mean group, std batch, eps 1e-06, biased false, leave_one_out false, residual false
A = [1.1547 | -0.57735 -0.57735 | -0.57735]`,
	"opo": `R = [1 | 0 | 0]
positive_weight 1
A = [0.75 | -0.25 -0.25 | -0.25]`,
	"opob": `R = [1 | 0 | 0], n = [1 | 2 | 1], old = [-0.69315 | -0.69315 -1.3863 | -1.6094], roll = [-0.69315 | -0.69315 -1.6094 | -0.91629]
positive_weight 1, eps 1e-08, weighted true, cap +Inf, length_norm false, aggregate mean, std false
A = [0.86667 | -0.13333 -0.13333 | -0.13333]`,
	"optimal_token_baseline": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0], old = [-0.69315 | -0.69315 -1.3863 | -1.6094], Σq² = [0.4 | 0.4 0.5 | 0.3]
positive_weight 1, eps 1e-08, zero_tail true, scale increment
A = [0.64706 | 0.14706 0 | -0.35294]`,
	"process": `R = [1 | 0 | 0], r = [0 | 0.5 0 | -0.5]
positive_weight 1, outcome_weight 1, process_weight 1, std true, eps 1e-06
A = [1.1547 | 0.12976 -0.57735 | -1.2845]`,
	"reinforce": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0]
positive_weight 1, gamma 1, whiten false, holes carry, count_eps 1e-08
A = [1 | 0.5 0 | 0]`,
	"reinforce_plus_plus": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0]
positive_weight 1, gamma 1, whiten true, holes carry, count_eps 1e-08
A = [1.3056 | 0.26112 -0.78335 | -0.78335]`,
	"reinforce_plus_plus_baseline": `R = [1 | 0 | 0]
positive_weight 1
A = [1.5 | -0.5 -0.5 | -0.5]`,
	"remax": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0], greedy 0.5
positive_weight 1
A = [0.5 | 0 -0.5 | -0.5]`,
	"rl_zvp": `R = [0 | 0 | 0], H = [1 | 0.8 0.4 | 1.2]
positive_weight 1, scale 0.1, threshold 0, std true, eps 1e-06
A = [-0 | -0 -0.04 | -0]`,
	"rloo": `R = [1 | 0 | 0]
positive_weight 1, singleton zero
A = [1 | -0.5 -0.5 | -0.5]`,
	"tir_optimal_token_baseline": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0], old = [-0.69315 | -0.69315 -1.3863 | -1.6094], Σq² = [0.4 | 0.4 0.5 | 0.3]
positive_weight 1, eps 1e-08, zero_tail true, scale increment
A = [0.64706 | 0.14706 0 | -0.35294]`,
	"turn_level": `R = [1 | 0 | 0], r = [1 | 0.5 0 | 0], turns [0 | 0 1 | 0]
positive_weight 1, gamma 1, baseline group, std true, eps 1e-06
A = [1 | 0 0 | -1]`,
}
