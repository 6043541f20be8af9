// Package measurements is the mathematics of the claims: named functions with parameters that
// record figures of one replication, of frozen weights, tables of logits, queues or processes
// that can be enumerated, and what a fit or a choice makes of the figures of many. A claim's file
// names them, see package studies; one file here is one idea.
package measurements

import (
	"driftlab/experiments/study/claims/claim"
	"driftlab/experiments/study/judge"
	"driftlab/results/figure"
)

// measurement makes a measurement whose parameters have no values yet.
func measurement[M any, P interface {
	*M
	claim.Measurement
}]() claim.Measurement {
	return P(new(M))
}

// Library are the measurements and functions by the names that claims' files have for them.
var Library = claim.Library{
	Measurements: map[string]func() claim.Measurement{
		"flip bias":                   measurement[flipBias],
		"replay runs":                 measurement[replayRuns],
		"reroutes":                    measurement[reroutes],
		"baseline variances":          measurement[baselineVariances],
		"block middles":               measurement[blockMiddles],
		"late mismatch":               measurement[lateMismatch],
		"tail gradients":              measurement[tailGradients],
		"training from a random time": measurement[randomStart],
		// training is for figures that a measurement's come before or after; see claim.Training.
		"training":                 measurement[claim.Training],
		"configurations":           measurement[configurations],
		"copies":                   measurement[copies],
		"factors":                  measurement[factors],
		"gaps":                     measurement[gaps],
		"opsm sets":                measurement[opsmSets],
		"powers":                   measurement[powers],
		"product ratios":           measurement[productRatios],
		"skew":                     measurement[skew],
		"trust regions":            measurement[trustRegions],
		"counted training":         measurement[countedTraining],
		"matched rate":             measurement[matchedRate],
		"virtual clock":            measurement[virtualClock],
		"checkpoint ranks":         measurement[checkpointRanks],
		"pass@k estimates":         measurement[passkEstimates],
		"sampling until solved":    measurement[sampledUntilSolved],
		"search lengths":           measurement[searchLengths],
		"simulated searchers":      measurement[searchers],
		"weight spreads":           measurement[weightSpreads],
		"equal-loss ladder":        measurement[equalLossLadder],
		"gap ladder":               measurement[gapLadder],
		"model factors":            measurement[modelFactors],
		"tool gaps":                measurement[toolGaps],
		"tool ratios":              measurement[toolRatios],
		"aggregation runs":         measurement[aggregationRuns],
		"aggregations":             measurement[aggregations],
		"chi2 bound":               measurement[chi2Bound],
		"gap exponent":             measurement[gapExponent],
		"kl estimators":            measurement[klEstimators],
		"label flips":              measurement[labelFlips],
		"mixed versions":           measurement[mixedVersions],
		"mixtures":                 measurement[mixtures],
		"policy bound":             measurement[policyBound],
		"quadrants":                measurement[quadrants],
		"region variance":          measurement[regionVariance],
		"replay errors":            measurement[replayErrors],
		"tables":                   measurement[tables],
		"transformer aggregations": measurement[transformerAggregations],
		"update gradients":         measurement[updateGradients],
		"truncated laws":           measurement[truncatedLaws],
		"prefix values":            measurement[prefixValues],
		"score shares":             measurement[scoreShares],
		"step credit":              measurement[stepCredit],
		"teacher gradients":        measurement[teacherGradients],
	},
	Questions: map[string]func() claim.Question{
		"distance": func() claim.Question { return new(distance) },
		"attempts": func() claim.Question { return new(attempts) },
		"searches": func() claim.Question { return new(searches) },
	},
	Lists: map[string]claim.ListFunction{
		"lastOfFirst":     {Arguments: 2, Of: lastOfFirst},
		"mostMinusFewest": {Arguments: 3, Of: mostMinusFewest},
		"ceiling":         claim.Paired(ceiling),
		"explained":       claim.Paired(explained),
		"firstThird":      {Arguments: 1, Of: func(x ...[]float64) []float64 { return x[0][:len(x[0])/3] }},
		"windows":         {Arguments: 1, Of: func(x ...[]float64) []float64 { return windows(x[0]) }},
		// breakEven is of shares and gains.
		"breakEven":    {Arguments: 2, Of: breakEvenShare},
		"chosen":       {Arguments: -1, Of: chosenGain},
		"kendallAlong": {Arguments: -1, Of: kendallAlong},
		"fall":         claim.Single(fall),
		"trend":        claim.Paired(trend),
	},
	Units: map[string]claim.UnitFunction{
		"flipExponent":          {Texts: 1, Of: flipExponent(2)},
		"flipExponentWithK":     {Texts: 1, Of: flipExponent(3)},
		"inBudget":              {Texts: 1, Of: inBudget},
		"sparedByHeads":         {Texts: 1, Of: sparedByHeads},
		"surgeLead":             {Texts: 1, Of: func(j *claim.Judge, rates, texts []string) []float64 { return surgesOf(j, rates, texts[0]).leads }},
		"alarmLead":             {Texts: 3, Of: alarmLead},
		"forecastAUROC":         {Texts: 2, Of: forecastAUROC},
		"collapseOverRate":      {Of: collapseSlope(1)},
		"collapseOverStaleness": {Of: collapseSlope(2)},
		"lagLawESS":             {Of: lagLawESS},
		"lagLawExponent":        {Texts: 1, Of: lagLawExponent},
		"lagLawRight":           {Of: lagLawRight},
		"lagLawStable":          {Of: eachRun(lagLawStable)},
		"penaltyMatched":        {Texts: 2, Of: penaltyMatched},
		"widthExponents":        {Texts: 2, Of: widthExponents},
		"stableDoubling":        {Of: eachRun(stableDoubling)},
		"stableSlope":           {Of: eachRun(stableSlope)},
	},
	Tests: map[string]func(j *claim.Judge, texts []string) judge.Check{
		"law comes near the corner":                     comesNearCorner,
		"law comes near the published figure":           comesNearPublished,
		"law comes near both published figures":         comesNearBoth,
		"law holds the published figure":                holdsPublished,
		"law holds the published figure, ladder passes": holdsAndPasses,
		"law predicts the rung":                         predictsRung,
	},
	Notes: map[string]func(j *claim.Judge, texts []string) string{
		"surges":                    surgesNote,
		"best aggregations":         bestAggregations,
		"collapses by staleness":    collapsesNote,
		"matched penalty":           matchedPenaltyNote,
		"independent flips":         flipsNote,
		"law":                       lawNote,
		"law at the published size": missNote,
	},
	Figures: map[string]func(j *claim.Judge) *figure.Figure{
		"flip bias":              flipChart,
		"collapses by staleness": collapsesTable,
		"rungs":                  rungTable,
		"axes":                   rungPicture,
		"rungs of equal loss":    equalLossTable,
		"axes at equal loss":     equalLossPicture,
	},
}
