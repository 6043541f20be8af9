package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// What arm64's loops cost, counted from the assembly: no such processor was at
// hand to time them on. neon.md says how to read it.

// core is what a processor's description says of one of its cores.
type core struct {
	name                 string
	vectors, loads       float64 // vector instructions and loads it starts in a cycle
	stores, instructions float64 // stores, and instructions of any kind
	latency              float64 // of a multiply-add, in cycles
	scalarAdd            float64 // of a scalar addition
	ghz                  float64
}

var cores = []core{
	{"M1", 4, 3, 2, 8, 4, 3, 3.2},
	{"N1", 2, 2, 1, 4, 4, 2, 2.5},
}

// peak is a core's, in GFLOP/s: a multiply-add is two operations on four lanes.
func (c core) peak() float64 { return c.vectors * 8 * c.ghz }

// loop is one that a routine spends its time in, one turn of it.
type loop struct {
	instructions, vectors, fmas, loads, stores float64
	divisions                                  bool
	chained                                    bool // each sum waits for itself
}

// add counts an instruction by its line of assembly.
func (l *loop) add(line string) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	operands := strings.Split(strings.TrimSpace(rest), ", ")
	if name == "WORD" {
		_, spelling, _ := strings.Cut(rest, "// ")
		name, _, _ = strings.Cut(spelling, " ")
		operands = nil
	}
	l.instructions++
	var from, to bool // memory
	if n := len(operands); n > 1 {
		from = strings.Contains(operands[0], "(R")
		to = strings.Contains(operands[n-1], "(R")
	}
	switch {
	case name == "FLDPQ":
		l.loads += 2
	case name == "FSTPQ":
		l.stores += 2
	case from:
		l.loads++
	case to:
		l.stores++
	case name[0] == 'F' || name[0] == 'V':
		l.vectors++
	}
	switch name {
	case "FMLA", "VFMLA", "FMADDS":
		l.fmas++
	case "FDIV", "FSQRT":
		l.divisions = true
	}
}

// cycles is how long a turn takes at least on a core, and what bounds it.
func (l loop) cycles(c core) (cycles float64, bound string) {
	cycles, bound = l.vectors/c.vectors, "vectors"
	limit := func(n float64, what string) {
		if n > cycles {
			cycles, bound = n, what
		}
	}
	limit(l.loads/c.loads, "loads")
	limit(l.stores/c.stores, "stores")
	limit(l.instructions/c.instructions, "issue")
	switch {
	case l.chained && l.fmas > 0:
		limit(c.latency, "latency")
	case l.chained:
		limit(c.scalarAdd, "latency")
	}
	return cycles, bound
}

// loopsOf returns the innermost loops of a file's routines that work on whole
// vectors, under the name of routine and label.
func loopsOf(text string) (names []string, loops map[string]loop) {
	loops = map[string]loop{}
	routine, label := "", ""
	var l loop
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "TEXT ·"):
			routine, _, _ = strings.Cut(strings.TrimPrefix(line, "TEXT ·"), "(")
		case strings.HasSuffix(line, ":"):
			label = strings.TrimSuffix(line, ":")
			_, part, _ := strings.Cut(label, "_")
			l = loop{chained: slices.Contains([]string{"chain", "next"}, label) || slices.Contains([]string{"column", "key"}, part)}
		case strings.HasPrefix(line, "\t"):
			l.add(line)
			fields := strings.Fields(line)
			if strings.HasPrefix(fields[0], "B") && fields[len(fields)-1] == label && !strings.HasSuffix(label, "one") {
				name := routine
				if part, _, ok := strings.Cut(label, "_"); ok {
					name += ", " + part
				}
				names = append(names, name)
				loops[name] = l
			}
		}
	}
	return names, loops
}

// countFile is neon.md.
func countFile() string {
	var t strings.Builder
	t.WriteString(countText)
	for _, c := range cores {
		fmt.Fprintf(&t, "| %s | %g | %g | %g | %g | %g | %g | %.1f | %.1f |\n", c.name, c.vectors, c.loads, c.stores, c.instructions, c.latency, c.ghz, c.peak(), 2*c.peak())
	}
	table := func(title, unit string, text string, keep func(name string, l loop) bool) {
		fmt.Fprintf(&t, "\n## %s\n\n| routine | instructions | vector | loads | stores | FMAs | instructions per FMA | M1 cycles | bound | of peak | N1 cycles | bound | of peak |\n%s\n", title, "|---"+strings.Repeat("|--:", 12)+"|")
		names, loops := loopsOf(text)
		for _, name := range names {
			l := loops[name]
			if !keep(name, l) {
				continue
			}
			per := "-"
			if l.fmas > 0 {
				per = fmt.Sprintf("%.2f", l.instructions/l.fmas)
			}
			if l.divisions {
				name += " (divides)"
			}
			fmt.Fprintf(&t, "| %s | %g | %g | %g | %g | %g | %s", name, l.instructions, l.vectors, l.loads, l.stores, l.fmas, per)
			for _, c := range cores {
				cycles, bound := l.cycles(c)
				fmt.Fprintf(&t, " | %s | %s", trimmed(cycles), bound)
				if l.fmas > 0 && !strings.Contains(name, "Chains") {
					fmt.Fprintf(&t, " | %.0f %%", 100*l.fmas/c.vectors/cycles)
				} else {
					t.WriteString(" | -")
				}
			}
			t.WriteString(" |\n")
		}
		fmt.Fprintf(&t, "\n%s\n", unit)
	}
	all := func(string, loop) bool { return true }
	table("Matmul tiles", tilesNote, neonTileFile(), func(name string, l loop) bool { return strings.HasPrefix(name, "fused") })
	table("Attention", attentionNote, attentionFile(neon), all)
	table("Elementwise", "A turn is four elements of each slice.", vectorFile(neon), all)
	table("In-order sums", "A turn is one element of each of so many rows; the operations are scalar.", chainFile(neon), all)
	table("Rounding and quantising", "A turn is four elements.", roundFile()+quantizeFile(), all)
	return t.String()
}

// trimmed is a number with at most one place after the point.
func trimmed(x float64) string {
	if x == math.Trunc(x) {
		return fmt.Sprintf("%g", x)
	}
	return fmt.Sprintf("%.1f", x)
}

const countText = `<!-- Code generated by gen; DO NOT EDIT. -->

# The kernels on arm64: counted, not measured

No arm64 processor was at hand: the kernels were tested under emulation, which has
no speed to measure. What follows is counted from the generated assembly. It says what
the instructions allow, on data in the first-level cache: not what a run takes, which
also calls, waits for memory and computes outside these loops.

A turn of a loop takes no fewer cycles than the largest of: vector instructions over
vector pipes, loads over load pipes (a pair of registers is two), stores over store
pipes, instructions over the width of the front end, and, where sums wait for
themselves, the latency of a multiply-add. The share of the peak is multiply-adds over
vector pipes and these cycles. Two cores have twice the peak and the same share:
nothing in a loop is shared.

The processors' figures are those of D. Johnson, "Apple M1 Firestorm microarchitecture"
(dougallj.github.io/applecpu, 2021), and of Arm's "Neoverse N1 Software Optimization
Guide" as LLVM's model of it has them (AArch64SchedNeoverseN1.td), the width that of
its decoder; 2.5 GHz is the clock of a cloud's N1. A division occupies a pipe for
longer (seven cycles of one pipe on N1), which is not counted: the routines that divide
say so.

| core | vector pipes | loads | stores | width | FMA latency | GHz | GFLOP/s, one core | two cores |
|---|--:|--:|--:|--:|--:|--:|--:|--:|
`

const tilesNote = "A turn is one k of a tile: rows by groups of 16 columns, of narrow tiles rows by columns\n" +
	"(those of fewer than four columns leave lanes empty, which the share does not say).\n" +
	"Unfused tiles take two vector instructions where these take one."

const attentionNote = "A turn is four scores of a row, or four columns of eight rows' tails (28 multiply-adds\n" +
	"of a row each), or a square of four by four; of decodeHeads a column of four heads or one\n" +
	"times sixteen keys (score), or a key times 16 or 8 columns of them (mix, and rounded where\n" +
	"the probabilities are)."
