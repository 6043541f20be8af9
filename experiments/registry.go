package experiments

// Claims lists the claims that can be run, in the order of the survey.
func Claims() []Claim {
	return []Claim{
		lengthTrap(), driftSign(), geoLengthInvariant(), seqVariance(),
		fp16BF16Gap(), gapVsLength(), quantOrdering(), fp32Head(),
		moeVsDense(), routerFlips(), replayDrop(), moeRouteDriftLayers(),
	}
}
