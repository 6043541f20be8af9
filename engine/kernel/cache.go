package kernel

// usualCache is the size of the second-level cache where the processor does not tell it.
const usualCache = 1 << 20

// SecondLevelCache is the size of a core's second-level cache in bytes, for those who
// choose how much to work on at a time. No result may depend on it.
func SecondLevelCache() int { return secondLevelCache }

var secondLevelCache = func() int {
	if n := toldCache(); n > 0 {
		return n
	}
	return usualCache
}()
