//go:build unix

package experiments

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"driftlab/trainer/recipe"
)

// BenchmarkSideBySide is what n runs at a time on n cores make of each core: one
// run alone and n of the same together, in turns, with the medians of the turns.
// share is the time of one over the time of all n, 1 where no run waits for another
// and every core is worth as much as the first; work is n times the processor time
// of one over that of all, which other programs' load moves less: 1 where no run
// makes another's work longer.
func BenchmarkSideBySide(b *testing.B) {
	for _, kept := range []string{"memory", "disk"} {
		b.Run(kept, func(b *testing.B) {
			r, err := recipe.Load("headline", "steps=25", "eval.every=10")
			if err != nil {
				b.Fatal(err)
			}
			timed := func(runs int) (wall, cpu float64) {
				o := Options{Workers: runs}
				if kept == "disk" {
					o.Dir = b.TempDir()
				}
				recipes := slices.Repeat([]recipe.Recipe{r}, runs)
				for i := range recipes {
					recipes[i].Name = fmt.Sprint("run-", i)
				}
				start, used := time.Now(), processorTime(b)
				if _, err := Compare(context.Background(), recipes, []uint64{1}, o); err != nil {
					b.Fatal(err)
				}
				return time.Since(start).Seconds(), processorTime(b) - used
			}
			n := runtime.GOMAXPROCS(0)
			timed(n)
			var share, work, alone []float64
			for b.Loop() {
				wall, cpu := timed(1)
				walls, cpus := timed(n)
				alone = append(alone, wall)
				share = append(share, wall/walls)
				work = append(work, float64(n)*cpu/cpus)
			}
			b.ReportMetric(median(share), "share")
			b.ReportMetric(median(work), "work")
			b.ReportMetric(median(alone), "s/run")
		})
	}
}

// processorTime is what the process has used, in seconds.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
