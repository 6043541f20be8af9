package precision

import (
	"cmp"
	"slices"
	"strings"
)

// NearestNames sorts names by how near they are to the given one (see NameDistance),
// equals in their order. Every suggestion of a name in the module is taken from it.
func NearestNames(name string, names []string) []string {
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(NameDistance(name, a), NameDistance(name, b)) })
	return sorted
}

// NameDistance is the share of letters, upper or lower case, that would have to be
// changed to turn one name into another: the edit distance by the longer length.
func NameDistance(a, b string) float64 {
	return float64(EditDistance(strings.ToLower(a), strings.ToLower(b))) / float64(max(len(a), len(b), 1))
}

// NearestName returns the first of NearestNames.
func NearestName(name string, candidates []string) string { return NearestNames(name, candidates)[0] }

// EditDistance is the Levenshtein distance of two names, in bytes: names here
// are ASCII.
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
