package simulation

import (
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"testing"
)

// tables is the checksum of the tables behind the lengths.
const tables = 0x9d4059ebd0599da2

// The tables behind the lengths are the same on every processor.
func TestTables(t *testing.T) {
	h := fnv.New64a()
	for _, octave := range tail {
		for _, z := range octave {
			h.Write(strconv.AppendInt(nil, int64(z), 10))
		}
	}
	for _, p := range powers {
		h.Write(strconv.AppendInt(nil, int64(p), 10))
	}
	if got := h.Sum64(); got != tables {
		t.Errorf("the tables are %#x, they were %#x", got, uint64(tables))
	}
}

// The integer quantile against the distribution function, the integer power against
// the exponential.
func TestNormal(t *testing.T) {
	for _, p := range []float64{0.4999, 0.4, 0.25, 0.2, 0.1, 0.05, 0.01, 0.001, 1e-5} {
		bits := uint64(p*(1<<53)) << 11
		z := float64(normal(bits)) / (1 << fraction)
		if got := 0.5 * math.Erfc(z/math.Sqrt2); math.Abs(got/p-1) > 2e-3 {
			t.Errorf("the quantile of %v is %v, beyond which there is %v", p, z, got)
		}
		if normal(bits|1<<63) != -normal(bits) {
			t.Errorf("the quantiles of %v are not mirror images", p)
		}
	}
	for _, x := range []float64{-3, -1, -0.01, 0, 0.5, 1, 2.9957} {
		if got, want := scaled(100_000, int(math.Round(x*(1<<fraction)))), 100_000*math.Exp(x); math.Abs(float64(got)-want) > 2+want*1e-4 {
			t.Errorf("e^%v of 100000 is %d, not %v", x, got, want)
		}
	}
}

// Reference: systems.md, section 3: P99 ten times the median, mean 2.4K, .1%
// truncated for reasoning; correlation .6 within a group.
func TestLaws(t *testing.T) {
	const prompts, group = 6000, 4
	for _, l := range laws {
		all := make([]int, 0, prompts*group)
		var sum, square, cross float64
		for p := range prompts {
			var logs [group]float64
			for i := range group {
				n := l.Length(3, p, i)
				if n < 1 || l.Cap > 0 && n > l.Turns*l.Cap*l.Median {
					t.Fatalf("%s: a length of %d", l.Name, n)
				}
				all = append(all, n)
				logs[i] = math.Log(float64(n))
				sum += logs[i]
				square += logs[i] * logs[i]
			}
			cross += logs[0]*logs[1] + logs[2]*logs[3]
		}
		slices.Sort(all)
		n := float64(len(all))
		mean := sum / n
		variance := square/n - mean*mean
		correlation := (cross/(n/2) - mean*mean) / max(variance, 1e-9)
		median, p99 := float64(all[len(all)/2]), float64(all[len(all)*99/100])
		total := 0
		for _, x := range all {
			total += x
		}
		t.Logf("%s: median %v, P99 %v, mean %d, sigma %.3f, correlation %.3f", l.Name, median, p99, total/len(all), math.Sqrt(variance), correlation)
		switch l.Name {
		case "reasoning":
			if math.Abs(median/1470-1) > 0.05 || math.Abs(p99/median-10) > 1 || math.Abs(float64(total)/n-2400) > 120 ||
				math.Abs(math.Sqrt(variance)-0.99) > 0.02 || math.Abs(correlation-0.6) > 0.03 {
				t.Errorf("%s is another law", l.Name)
			}
		case "mild":
			if math.Abs(math.Sqrt(variance)-0.6) > 0.02 {
				t.Errorf("%s: sigma %v", l.Name, math.Sqrt(variance))
			}
		case "fixed":
			if all[0] != 2400 || all[len(all)-1] != 2400 {
				t.Errorf("%s: from %d to %d", l.Name, all[0], all[len(all)-1])
			}
		}
	}
}
