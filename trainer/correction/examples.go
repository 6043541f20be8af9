package correction

// examples are the worked examples of the specs: input, parameters, result.
// A test recomputes them; go test -run WorkedExamples -update writes them.
var examples = map[string]string{
	"band": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; level token, statistic ratio, aggregate mean, eps 0, low 0, high 2
keep = [1 0 1]`,
	"geometric": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.99, high 1.01
keep = [0 0 0]`,
	"geometric_tis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; cap 2, floor 0, eps 0
w = [1.14263 1.14263 1.14263]`,
	"icepop": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.5, high 5, binary false
w = [0.904837 2.22554 0.740818]`,
	"none": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; no parameters
w = [1 1 1]`,
	"opsm": `logp = [-0.5 -1.2 -2], roll = [-0.6 -1.8 -2.2], A = [-1 -1 -1]
D = mean(roll − logp) = -0.3; delta 0.5, factored false, signs negative
keep = [1 1 1]`,
	"outlier": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.0001, high 100
keep = [1 1 1]`,
	"random_mask": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; rate 0.001
keep = [1 1 1]`,
	"segment_mask": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.8, high 1.2, by turn
keep = [0 0 0]`,
	"segment_tis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; cap 2, floor 0, by turn, geometric true, eps 0
w = [1.41907 1.41907 0.740818]`,
	"seq_max_k2": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"seq_max_k3": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"seq_mean_k1": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.999, high 1.001
keep = [0 0 0]`,
	"seq_mean_k2": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"seq_mean_k3": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"seq_sum_k1": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.5, high 2
keep = [1 1 1]`,
	"seq_sum_k2": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"seq_sum_k3": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [0 0 0]`,
	"sequence_mask": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.5, high 2
keep = [1 1 1]`,
	"sequence_mis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0, high 2
w = [1.49182 1.49182 1.49182]`,
	"sequence_tis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; cap 2, floor 0
w = [1.49182 1.49182 1.49182]`,
	"token_k1": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.5, high 2
keep = [1 0 1]`,
	"token_k2": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [1 0 0]`,
	"token_k3": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; high 0.01
keep = [1 0 0]`,
	"token_mask": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0.5, high 2
keep = [1 0 1]`,
	"token_mis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; low 0, high 2
w = [0.904837 0 0.740818]`,
	"token_tis": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; cap 2, floor 0
w = [0.904837 2 0.740818]`,
	"trm": `mu = [0.5 0.3 0.2], pi = [0.4 0.4 0.2]
KL(mu || pi) = 0.0252672 at each of 3 tokens; delta 0.01
keep = [0 0 0]`,
	"veto": `old = [-0.7 -1 -2.5], roll = [-0.6 -1.8 -2.2]
ρ = [0.904837 2.22554 0.740818]; threshold 0.0001
keep = [1 1 1]`,
}
