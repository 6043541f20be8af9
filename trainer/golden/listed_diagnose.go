package golden

// listedDiagnose are the rows of package trainer/diagnose.
var listedDiagnose = []Listing{
	{File: "verl/debug_metrics*.json", Source: "calculate_token_list_diff",
		Reason: "counts unequal token ids of two engines' inputs; here both engines score the same tokens of one batch"},
}
