package stats

import "fmt"

// Regress is the least-squares fit of y = intercept + Σ_k slopes[k]·x[k]. It
// panics where the columns do not determine it.
func Regress(y []float64, x ...[]float64) (intercept float64, slopes []float64) {
	ones := make([]float64, len(y))
	for i := range ones {
		ones[i] = 1
	}
	for _, column := range x {
		paired("Regress", column, y)
	}
	beta, ok := Solve(append([][]float64{ones}, x...), y)
	if !ok {
		panic(fmt.Sprintf("stats: Regress on %d columns of %d: they do not determine it", len(x), len(y)))
	}
	return beta[0], beta[1:]
}
