package kernel

// The sizes of caches where the processor does not tell them.
const (
	usualFirstLevel  = 48 << 10
	usualSecondLevel = 1 << 20
)

// firstLevelCache is the size of a core's first-level data cache in bytes.
var firstLevelCache = orUsual(toldFirstLevel(), usualFirstLevel)

// SecondLevelCache is the size of a core's second-level cache in bytes, for those who
// choose how much to work on at a time. No result may depend on it.
func SecondLevelCache() int { return secondLevelCache }

var secondLevelCache = orUsual(toldSecondLevel(), usualSecondLevel)

func orUsual(told, usual int) int {
	if told > 0 {
		return told
	}
	return usual
}
