package precision

import "strings"

// NearestName returns the candidate with the smallest edit distance to name,
// upper or lower case, the first of equals.
func NearestName(name string, candidates []string) string {
	name = strings.ToLower(name)
	best, bestDistance := "", -1
	for _, c := range candidates {
		if d := EditDistance(name, c); bestDistance < 0 || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// EditDistance is the Levenshtein distance of two names, in bytes: names here
// are ASCII. Every suggestion of a nearest name in the module is made with it.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1) // row[j]: distance between a[:i] and b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
