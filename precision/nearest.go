package precision

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// The constants of a format are methods of the pointer: copying the receiver
// would cost more than they do.

// limit is the smallest magnitude that nearest-even rounding takes beyond Max:
// the midpoint between Max and the number that would follow, or the next
// float32 if that tie goes to Max for being even.
func (f *Format) limit() uint32 {
	top, drop := math.Float32bits(f.Max), uint(23-f.MantissaBits)
	return top + 1<<(drop-1) + 1 - top>>drop&1
}

// minExp is the exponent field, in place, of the smallest normal number.
func (f *Format) minExp() uint32 { return uint32(1-f.Bias+floatBias) << 23 }

// integerPower is 1.5·2^23: added to a number of magnitude below 2^22 it leaves
// no room for a fraction, so the sum is rounded to a whole number. Taking it
// away again gives +0 for every zero, the only one integers have.
const integerPower = 3 << 22

// NearestNames sorts names by how near they are to the given one (see NameDistance),
// equals in their order. Every suggestion of a name in the module is taken from it.
func NearestNames(name string, names []string) []string {
	distance := map[string]float64{}
	for _, n := range names {
		distance[n] = NameDistance(name, n)
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return sorted
}

// NameDistance is the share of letters, upper or lower case, that would have to be
// changed to turn one name into another: the edit distance by the longer length. A swap of two
// neighbours is one change.
func NameDistance(a, b string) float64 {
	return float64(EditDistance(strings.ToLower(a), strings.ToLower(b))) / float64(max(len(a), len(b), 1))
}

// NearestName returns the first of NearestNames.
func NearestName(name string, candidates []string) string { return NearestNames(name, candidates)[0] }

// Nearest returns the name that was probably meant, "" if none is near. In this order: a name that differs in case or
// separators alone; one with a small typing error; one that begins with the words of the given one, as fp8-w8a8 does with fp8;
// one that has all its words, as learner.optimizer.lr has lr; one that begins with its letters; one with a larger typing
// error. Of several the one with the fewest words. A typing error is small up to a quarter of the letters, and none beyond a
// third: version is not lesson.
func Nearest(name string, names []string) string {
	typed := nameWords(name)
	if len(name) < 2 || len(typed) == 0 {
		return ""
	}
	best, rank := "", len(nearForms)
	for _, known := range names {
		for i, near := range nearForms[:min(rank+1, len(nearForms))] {
			if near(typed, nameWords(known)) && (i < rank || len(nameWords(known)) < len(nameWords(best))) {
				best, rank = known, i
			}
		}
	}
	sorted := NearestNames(name, names)
	for _, limit := range []struct {
		before int
		share  float64
	}{{1, 1. / 4}, {len(nearForms), 1. / 3}} {
		if rank >= limit.before && len(sorted) > 0 && NameDistance(name, sorted[0]) <= limit.share {
			return sorted[0]
		}
	}
	return best
}

// nearForms are the ways in which a known name contains a typed one, both in words, the closest first.
var nearForms = []func(typed, known []string) bool{
	slices.Equal[[]string],
	func(typed, known []string) bool {
		return len(typed) <= len(known) && slices.Equal(typed, known[:len(typed)])
	},
	func(typed, known []string) bool {
		return !slices.ContainsFunc(typed, func(word string) bool { return !slices.Contains(known, word) })
	},
	func(typed, known []string) bool {
		return strings.HasPrefix(strings.Join(known, "_"), strings.Join(typed, "_"))
	},
}

// nameWords are the words of a name, in lower case.
func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_./@ ", r) })
}

// EditDistance counts the insertions, deletions, replacements and swaps of neighbours between two names, in bytes: names
// here are ASCII.
func EditDistance(a, b string) int {
	rows := make([][]int, len(a)+1) // rows[i][j]: distance between a[:i] and b[:j]
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			if i == 0 || j == 0 {
				rows[i][j] = i + j
				continue
			}
			replaced := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			rows[i][j] = min(replaced, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
