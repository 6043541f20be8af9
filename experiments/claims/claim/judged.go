package claim

import "driftlab/experiments/study/judge"

// What a claim's checks and verdicts are, under the names that claims have for them.
type (
	Check       = judge.Check
	RateOutcome = judge.RateOutcome
	Power       = judge.Power
	Shares      = judge.Shares
	Verdict     = judge.Verdict
	Level       = judge.Level
	Mark        = judge.Mark
)

// The verdicts, the levels and the outcomes of checks.
const (
	Reproduced    = judge.Reproduced
	Extrapolates  = judge.Extrapolates
	OnlyAmplified = judge.OnlyAmplified
	NotReproduced = judge.NotReproduced
	Refuted       = judge.Refuted
	Undecided     = judge.Undecided
	Exact         = judge.Exact
	Natural       = judge.Natural
	Ladder        = judge.Ladder
	Amplified     = judge.Amplified
	Passed        = judge.Passed
	Failed        = judge.Failed
	Contrary      = judge.Contrary
	Open          = judge.Open
	Reported      = judge.Reported
)

// The checks, and what follows from them.
var (
	Adjusted       = judge.Adjusted
	Arithmetic     = judge.Arithmetic
	Ratio          = judge.Ratio
	RatioBelow     = judge.RatioBelow
	Above          = judge.Above
	Below          = judge.Below
	Within         = judge.Within
	Better         = judge.Better
	Same           = judge.Same
	Inside         = judge.Inside
	Rates          = judge.Rates
	Occurs         = judge.Occurs
	Proportional   = judge.Proportional
	FewerCollapses = judge.FewerCollapses
	AtMost         = judge.AtMost
	Zero           = judge.Zero
	Report         = judge.Report
	ReportRatio    = judge.ReportRatio
	Decide         = judge.Decide
	Verdicts       = judge.Verdicts
	Levels         = judge.Levels
)
