package stats

// AUC is the area under the learning curve y at increasing x by the rule of the
// trapezium, divided by the width: the mean height, in the unit of y. One point
// is its own height. It panics on lengths that differ.
func AUC(x, y []float64) float64 {
	paired("AUC", x, y)
	if len(x) == 1 {
		return y[0]
	}
	area := 0.0
	for i := 1; i < len(x); i++ {
		area += float64((x[i] - x[i-1]) * (y[i-1] + y[i]) / 2)
	}
	return area / (x[len(x)-1] - x[0])
}
