package golden

// listedLoss are the rows of package trainer/loss.
var listedLoss = []Listing{}
