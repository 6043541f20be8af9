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
	Adjusted = judge.Adjusted
	Decide   = judge.Decide
	Verdicts = judge.Verdicts
	Levels   = judge.Levels
)
