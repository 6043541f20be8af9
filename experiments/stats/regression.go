package stats

import "fmt"

// Regress is the least-squares fit of y = intercept + Σ_k slopes[k]·x[k]. It
// panics where the columns do not determine it.
func Regress(y []float64, x ...[]float64) (intercept float64, slopes []float64) {
	beta := fit(y, x)
	return beta[0], beta[1:]
}

// PartialR2 is the share of the variance of y left by the given columns that x
// explains beside them: 1 − RSS(x and given)/RSS(given).
func PartialR2(y, x []float64, given ...[]float64) float64 {
	without := residual(y, given)
	if without == 0 {
		return 0
	}
	return 1 - residual(y, append(given[:len(given):len(given)], x))/without
}

// fit returns the intercept and the slopes.
func fit(y []float64, x [][]float64) []float64 {
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
	return beta
}

// residual is the sum of squares that the fit leaves.
func residual(y []float64, x [][]float64) float64 {
	beta, sum := fit(y, x), 0.0
	for i, v := range y {
		v -= beta[0]
		for k, column := range x {
			v -= float64(beta[k+1] * column[i])
		}
		sum += float64(v * v)
	}
	return sum
}
