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

// Lookup returns the claim of that id.
func Lookup(id string) (Claim, bool) {
	for _, c := range Claims() {
		if c.ID == id {
			return c, true
		}
	}
	return Claim{}, false
}

// ClaimIDs lists the ids in the order of Claims.
func ClaimIDs() []string {
	var ids []string
	for _, c := range Claims() {
		ids = append(ids, c.ID)
	}
	return ids
}
