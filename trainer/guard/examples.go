package guard

// examples are the worked examples of the specs: input, parameters, result.
// A test recomputes them; go test -run WorkedExamples -update writes them.
var examples = map[string]string{
	"ess_lr": `w = [1 0.5 2 8]
base 1, rule sqrt, current false
ess = 0.477437, lr × 0.690968`,
	"length_surge": `mean length 10 up to step 109, 30 from step 110
rule baseline, factor 3, warmup 50, decay 0.5, stretch 1.8, floor 0.1
lr × 1 at step 109, 1 at step 307, 0.5 at step 308, 0.25 at step 506`,
	"gradient_alignment": `g_prev = [1 0], g = [0.6 0.8]
low 0.1, high 0.9, full false
c = 0.6, g becomes [0.1 0.8]`,
}
