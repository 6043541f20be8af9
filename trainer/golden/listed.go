package golden

import "slices"

// Listed is the one table of what is not matched, and why: each owner keeps
// its rows in a file of its own.
var Listed = slices.Concat(listedLoss, listedCorrection, listedAdvantage, listedDiagnose)
