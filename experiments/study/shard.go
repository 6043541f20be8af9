package study

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

// Folder is where a part is kept below the folder of its sweep, so that parts may
// run at the same time on one file system; empty for all runs.
func (s Shard) Folder() string {
	if s.Count == 0 {
		return ""
	}
	return fmt.Sprintf("shard-%d-of-%d", s.Index, s.Count)
}

// ShardOf reads off the environment of a job which part of an array it is, and from
// which variable: of Slurm, SLURM_ARRAY_TASK_ID with _MIN, _COUNT and, where ids go
// in steps, _STEP; of a Kubernetes Indexed Job, JOB_COMPLETION_INDEX with
// JOB_COMPLETIONS, which the job's file sets to its completions, as nothing else
// tells a container how many there are. Neither is set: all of the runs.
func ShardOf(environment func(name string) string) (s Shard, from string, err error) {
	number := func(name string, otherwise int) int {
		text := environment(name)
		if text == "" && otherwise >= 0 {
			return otherwise
		}
		v, failed := strconv.Atoi(text)
		if failed != nil && err == nil {
			err = fmt.Errorf("%s=%q: not a number; --shard i/n says which part to run", name, text)
		}
		return v
	}
	switch {
	case environment("SLURM_ARRAY_TASK_ID") != "":
		from = "SLURM_ARRAY_TASK_ID"
		step := number("SLURM_ARRAY_TASK_STEP", 1)
		s = Shard{(number(from, -1) - number("SLURM_ARRAY_TASK_MIN", 0)) / max(step, 1), number("SLURM_ARRAY_TASK_COUNT", -1)}
	case environment("JOB_COMPLETION_INDEX") != "":
		from = "JOB_COMPLETION_INDEX"
		if environment("JOB_COMPLETIONS") == "" {
			return s, from, fmt.Errorf("JOB_COMPLETION_INDEX is set and JOB_COMPLETIONS is not: set it to the job's completions, or give --shard i/n")
		}
		s = Shard{number(from, -1), number("JOB_COMPLETIONS", -1)}
	default:
		return s, "", nil
	}
	if err == nil && (s.Index < 0 || s.Index >= s.Count) {
		err = fmt.Errorf("%s makes this part %d of %d: --shard i/n says which part to run", from, s.Index, s.Count)
	}
	return s, from, err
}
