package simulation

import (
	"math"
	"math/rand/v2"

	"driftlab/precision/elementary"
	"driftlab/trainer/method"
	"driftlab/trainer/method/stream"
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
	// Refuse is the percentage of samples that are refused when they are done.
	Refuse int
}

// laws are the presets.
var laws = []Law{
	// P99 ten times the median (DORA, Laminar) is ln 10 / 2.326 = .99; DORA's mean of
	// 2.4K with a cap of 30K gives the median and the cap, Seer asserts that a group's
	// lengths are alike: its correlation is inferred.
	{Name: "reasoning", Median: 1470, Sigma: 990, Cap: 20, Correlation: 600, Turns: 1},
	{Name: "mild", Median: 1470, Sigma: 600, Cap: 20, Correlation: 600, Turns: 1},
	// Sums of turns; a tool is called between two, and costs what the cluster says. Its
	// reply has no tokens here.
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

// refused reports whether the sample with that number is refused when it is done.
func (l Law) refused(seed uint64, sample int) bool {
	return l.Refuse > 0 && int(stream.New(seed+1, stream.Lengths, sample).Uint64()>>32)*100>>32 < l.Refuse
}

// turns appends the numbers of tokens behind which each turn of that response to the prompt
// with that number ends. They depend on nothing else, so that every policy has the same work.
func (l Law) turns(ends []int, seed uint64, prompt, response int) []int {
	ofPrompt := stream.New(seed, stream.Lengths, 2*prompt)
	own := stream.New(stream.ID(stream.Lengths, 2*prompt+1)^seed, stream.Lengths, response)
	turns := 1 + int(ofPrompt.Uint64()>>32)*l.Turns>>32
	sigma := float64(l.Sigma) / 1000
	shared := sigma * math.Sqrt(float64(l.Correlation)/1000)
	alone := sigma * math.Sqrt(1-float64(l.Correlation)/1000)
	common := normal(ofPrompt)
	n := 0
	for range turns {
		x := float64(shared*common) + float64(alone*normal(own))
		turn := max(1, int(math.Round(float64(l.Median)*elementary.Exp(x))))
		if l.Cap > 0 {
			turn = min(turn, l.Cap*l.Median)
		}
		n += turn
		ends = append(ends, n)
	}
	return ends
}

// normal draws a standard normal value by Box and Muller's formula, out of functions
// that have the same bits on every processor; those of math/rand have not.
func normal(r *rand.Rand) float64 {
	const unit = 1.0 / (1 << 53)
	u := float64(r.Uint64()>>11+1) * unit // in (0, 1]
	angle := float64(float64(r.Uint64()>>11) * unit)
	return math.Sqrt(-2*elementary.Log(u)) * elementary.CosPi(2*angle)
}
