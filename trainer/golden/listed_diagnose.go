package golden

// listedDiagnose are the rows of package trainer/diagnose.
var listedDiagnose = []Listing{}
