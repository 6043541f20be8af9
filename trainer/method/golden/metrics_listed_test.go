package golden

// goldenListings are the cases and outputs that are not matched, and why.
var goldenMetricsListings = Listings{
	{File: "verl/debug_metrics*.json", Source: "calculate_token_list_diff",
		Reason: "counts unequal token ids of two engines' inputs; here both engines score the same tokens of one batch"},
}
