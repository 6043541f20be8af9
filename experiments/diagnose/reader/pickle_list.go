package reader

// What values of a pickle take in memory: a place on the stack or in a list, a number behind it, anything that has
// parts, and an entry of the memo.
const (
	placeBytes  = 16
	numberBytes = 8
	objectBytes = 64
	memoBytes   = 48
)

// list is a list, a tuple or a set. A list that a pickle fills with whole numbers alone, or with others alone, holds them
// as numbers, in a third of the memory.
type list struct {
	items   []any
	numbers []float64 // where there are no items
	whole   bool      // the numbers are whole
}

func (l *list) len() int {
	if l == nil {
		return 0
	}
	return len(l.items) + len(l.numbers)
}

// at is an entry.
func (l *list) at(i int) any {
	switch {
	case l.items != nil:
		return l.items[i]
	case l.whole:
		return int64(l.numbers[i])
	}
	return l.numbers[i]
}

// extend puts entries behind those of a list; folded is how many of them it holds as numbers.
func (l *list) extend(items []any) (folded int) {
	if l.items == nil && len(items) > 0 {
		_, whole := items[0].(int64)
		if (len(l.numbers) == 0 || l.whole == whole) && l.fold(items, whole) {
			l.whole = whole
			return len(items)
		}
		before := make([]any, 0, len(l.numbers)+len(items))
		for i := range l.numbers {
			before = append(before, l.at(i))
		}
		l.items, l.numbers = before, nil
	}
	l.items = append(l.items, items...)
	return 0
}

// fold puts entries behind the numbers, if all of them are of the kind that these are.
func (l *list) fold(items []any, whole bool) bool {
	before := len(l.numbers)
	for _, item := range items {
		x, fraction := item.(float64)
		if n, ok := item.(int64); ok && n >= -exact && n <= exact {
			x, fraction = float64(n), false
		} else if !fraction {
			l.numbers = l.numbers[:before]
			return false
		}
		if fraction == whole {
			l.numbers = l.numbers[:before]
			return false
		}
		l.numbers = append(l.numbers, x)
	}
	return true
}
