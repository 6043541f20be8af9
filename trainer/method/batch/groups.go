package batch

// Groups are the prompt groups of a batch, whatever their sizes and wherever
// their responses stand. The zero value is empty; Find fills it, in its memory.
type Groups struct {
	// rows holds the responses group by group, start the ends of the groups in it.
	rows, start []int
	index       map[int]int // group number -> group
}

// Find collects the groups from the number of each response: groups in the order
// of their first response, responses of a group in the order of the batch.
func (g *Groups) Find(group []int) {
	if g.index == nil {
		g.index = map[int]int{}
	}
	clear(g.index)
	g.start = append(g.start[:0], 0)
	for _, number := range group {
		k, known := g.index[number]
		if !known {
			k = len(g.index)
			g.index[number] = k
			g.start = append(g.start, 0)
		}
		g.start[k+1]++
	}
	for k := range g.Len() {
		g.start[k+1] += g.start[k]
	}
	g.rows = Zeroed(g.rows, len(group))
	for i, number := range group {
		k := g.index[number]
		g.rows[g.start[k]] = i
		g.start[k]++
	}
	copy(g.start[1:], g.start[:g.Len()]) // each moved to where the next began
	g.start[0] = 0
}

// Len is the number of groups.
func (g *Groups) Len() int { return len(g.start) - 1 }

// Rows are the responses of group k, in the order of the batch.
func (g *Groups) Rows(k int) []int { return g.rows[g.start[k]:g.start[k+1]] }
