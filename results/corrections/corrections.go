package corrections

import "driftlab/results/stats"

// Page is what the page shows.
type Page struct {
	// Seeds is the number of seeds of every run, Rates the learning rates that an effect is the
	// mean over.
	Seeds int
	Rates []string
	// Note is a paragraph before the legend; empty for none.
	Note string
	// Test names the test of significance.
	Test     string
	Problems []Problem
	// Settings are ranked by their mean regret.
	Settings []Setting
	// Explanations are what the settings refer to, each once.
	Explanations []Explanation
}

// Problem is a stressor of the runs.
type Problem struct {
	// Text describes it in a phrase.
	Name, Text string
	// Healthy: it is none, only a harmless mismatch.
	Healthy bool
	// Recipe is how a recipe gives it to a run.
	Recipe string
	// Uncorrected is the mean pass rate without a correction, minus that of the matched control.
	Uncorrected float64
	// Recommended is the place of the recommended setting, -1 for none.
	Recommended int
}

// Setting is a method with its parameters.
type Setting struct {
	// Line is the setting in a recipe; SameAs names one whose runs all have the same bits.
	Name, Group, Line, SameAs string
	// Control: it is no correction.
	Control bool
	// Regret is the mean distance to the best setting of each problem.
	Regret stats.Interval
	// Effects are in the order of the problems.
	Effects []Effect
	// Frameworks are its lines in every framework that can be written.
	Frameworks []Lines
	// Explained are the IDs of its explanations.
	Explained []string
}

// Effect is the improvement over no correction under a problem.
type Effect struct {
	Estimate, Low, High float64
	// P is nan where nothing differs.
	P float64
	// Sign is 1 where the effect is significantly positive, -1 where significantly negative,
	// else 0.
	Sign int
	// Inactive: the setting changed no bit of any run.
	Inactive bool
}

// Lines is a setting in the syntax of a framework; Text is empty where there is none.
type Lines struct {
	Framework, Text string
	Notes           []string
}

// Explanation is a method, or a field of a recipe.
type Explanation struct {
	ID, Name, Kind string
	// Does and When say what it does and when to use it.
	Does, When string
	Parts      []Part
}

// Part is a headed text.
type Part struct{ Heading, Text string }

// Missing are the frameworks without lines for the setting.
func (s *Setting) Missing() (list []string) {
	for _, f := range s.Frameworks {
		if f.Text == "" {
			list = append(list, f.Framework)
		}
	}
	return list
}
