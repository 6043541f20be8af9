package kernel

// softRows replaces the scores of m rows by exp(score·scale - max), row r having
// n+r·causal of them and a maximum of its own, max = float32(largest·scale).
func softRows(scores, maxima []float32, ld, m, n, causal int, scale float32) {
	if softRowsVector(scores, maxima, ld, m, n, causal, scale) {
		return
	}
	for r := range m {
		row := scores[r*ld:][:n+r*causal]
		maxima[r] = float32(maxOf(row) * scale)
		expAffine(row, row, scale, maxima[r])
	}
}

// tailRows ends the mix of m causal rows, whose keys so far were the same for
// all: the chains of row r go on over r keys more,
//
//	out[r] = fma(probs[r][j], values[j], out[r])  for j = 0 .. r-1
//
// n columns. Rows are ldo, ldp and ldv elements apart.
func tailRows(out, probs, values []float32, ldo, ldp, ldv, m, n int) {
	if tailRowsVector(out, probs, values, ldo, ldp, ldv, m, n) {
		return
	}
	for r := 1; r < m; r++ {
		for j := range r {
			addFused(out[r*ldo:][:n], values[j*ldv:][:n], probs[r*ldp+j])
		}
	}
}

// transpose sets dst[n][ld] to the transpose of src[rows][stride], n columns.
func transpose(dst, src []float32, rows, n, stride, ld int) {
	if rows == 1 && ld == panelWidth {
		spreadRow(dst, src[:n])
		return
	}
	done := transposeVector(dst, src, rows, n, stride, ld)
	for r := range rows {
		row := src[r*stride:][:n]
		for i := done; i < n; i++ {
			dst[i*ld+r] = row[i]
		}
	}
}

// spreadRow writes a row to the lane at hand of a panel.
func spreadRow(lane, row []float32) {
	for ; len(row) >= 4; lane, row = lane[min(4*panelWidth, len(lane)):], row[4:] {
		to := (*[3*panelWidth + 1]float32)(lane)
		to[0], to[panelWidth], to[2*panelWidth], to[3*panelWidth] = row[0], row[1], row[2], row[3]
	}
	for i, x := range row {
		lane[i*panelWidth] = x
	}
}
