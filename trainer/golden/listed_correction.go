package golden

// listedCorrection are the rows of package trainer/correction.
var listedCorrection = []Listing{}
