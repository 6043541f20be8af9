package golden

// listedAdvantage are the rows of package trainer/advantage.
var listedAdvantage = []Listing{}
