package experiments

// Claims lists the claims that can be run, in the order of the survey.
func Claims() []Claim {
	return []Claim{
		// Ratio arithmetic and estimators.
		lengthTrap(), driftSign(), geoLengthInvariant(), ratioFactorisation(), seqVariance(), kEstimators(), sgaFrontier(), threePolicyBound(),
		// Precision and quantisation.
		fp16BF16Gap(), gapVsLength(), quantOrdering(), fp32Head(),
		// Reduction order and determinism.
		uniqueCompletions(), tpOrder(), batchInvariantZero(),
		// Where in the text the gap sits.
		lowProbTail(), toolTokens(), supportBias(),
		// Routing.
		moeVsDense(), routerFlips(), replayDrop(), replayHides(), gspoMoE(), moeTKD(), moeRouteDriftLayers(),
		// What a correction sees and does.
		opsmIsGeo(), icepopRate(), recomputeBlind(), trustRegionShape(), lengthNormIncentive(),
	}
}
