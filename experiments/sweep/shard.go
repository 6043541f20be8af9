package sweep

import (
	"fmt"
	"strconv"
	"strings"
)

// Shard is one of Count parts of the runs, from 0. The zero value is all of them.
type Shard struct{ Index, Count int }

// has reports whether the run of that number is in the shard: neighbours, which
// take about the same time, go to different ones.
func (s Shard) has(run int) bool { return s.Count == 0 || run%s.Count == s.Index }

// ParseShard reads "i/n": part i, from 0, of n.
func ParseShard(text string) (Shard, error) {
	index, count, ok := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(index)
	n, err2 := strconv.Atoi(count)
	if !ok || err1 != nil || err2 != nil || n < 1 || i < 0 || i >= n {
		return Shard{}, fmt.Errorf("%q: give i/n, part i of n parts, counted from 0: 0/4 to 3/4", text)
	}
	return Shard{i, n}, nil
}

// String is the shard as ParseShard reads it; empty for all runs.
func (s Shard) String() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.Index, s.Count)
}
