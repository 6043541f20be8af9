package simulation

import (
	"math"

	"driftlab/trainer/method"
	"driftlab/trainer/stream"
)

// Law says how long responses are. Lengths are lognormal: a part of the logarithm
// belongs to the prompt, and so to all of its group, the rest to the response.
type Law struct {
	// Name is how it is chosen.
	Name string
	// Median is that of a turn, in tokens.
	Median int
	// Sigma is the standard deviation of the logarithm, in thousandths; 0 makes all equal.
	Sigma int
	// Cap cuts at so many medians; 0 for none.
	Cap int
	// Correlation is that of two responses to one prompt, in thousandths.
	Correlation int
	// Turns is the number of turns an episode may have, one as likely as another.
	Turns int
}

// laws are the presets.
var laws = []Law{
	// P99 ten times the median (DORA, Laminar) is ln 10 / 2.326 = .99; DORA's mean of
	// 2.4K with a cap of 30K gives the median and the cap, Seer asserts that a group's
	// lengths are alike: its correlation is inferred.
	{Name: "reasoning", Median: 1470, Sigma: 990, Cap: 20, Correlation: 600, Turns: 1},
	{Name: "mild", Median: 1470, Sigma: 600, Cap: 20, Correlation: 600, Turns: 1},
	// Sums of turns; a tool's latency, in which a request keeps its slot, is left out.
	{Name: "agentic", Median: 300, Sigma: 600, Cap: 20, Correlation: 600, Turns: 16},
	{Name: "fixed", Median: 2400, Turns: 1},
}

// Laws are the names of the presets.
func Laws() []string {
	var names []string
	for _, l := range laws {
		names = append(names, l.Name)
	}
	return names
}

// LookupLaw finds a preset; the error names the nearest.
func LookupLaw(name string) (Law, error) {
	for _, l := range laws {
		if l.Name == name {
			return l, nil
		}
	}
	return Law{}, method.UnknownName(name, Laws())
}

// Length is that of one response to the prompt with that number. It depends on
// nothing else, so that every policy has the same work.
func (l Law) Length(seed uint64, prompt, response int) int {
	ofPrompt := stream.New(seed, stream.Lengths, 2*prompt)
	own := stream.New(stream.ID(stream.Lengths, 2*prompt+1)^seed, stream.Lengths, response)
	turns := 1 + int(ofPrompt.Uint64()>>32)*l.Turns>>32
	shared, alone := root(l.Correlation), root(1000-l.Correlation)
	common := normal(ofPrompt.Uint64())
	n := 0
	for range turns {
		z := (shared*common + alone*normal(own.Uint64())) >> fraction
		turn := max(1, scaled(l.Median, z*l.Sigma/1000))
		if l.Cap > 0 {
			turn = min(turn, l.Cap*l.Median)
		}
		n += turn
	}
	return n
}

// root is the square root of thousandths, in units of 2^-16. Every processor rounds
// a square root alike.
func root(thousandths int) int {
	return int(math.Sqrt(float64(thousandths<<(2*fraction)) / 1000))
}
