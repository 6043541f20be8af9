package diagnose

// Signature is a feature of a gap beside what it is in simulated gaps of each cause.
type Signature struct {
	// Feature is its name among the features, About what it is.
	Feature string  `json:"feature"`
	About   string  `json:"about"`
	Value   float64 `json:"value"`
	// Ranges are of the reference set.
	Ranges []Range `json:"ranges"`
}

// Range is where a figure lies in N simulated dumps: a feature in those of a cause, the
// value of a check in all, none of which has anything to repair.
type Range struct {
	Cause string `json:"cause,omitempty"`
	N     int    `json:"n"`
	// Quantiles are those of 5, 25, 50, 75 and 95 %.
	Quantiles [5]float64 `json:"quantiles"`
}

// signatureFeatures are the features that are shown.
var signatureFeatures = []struct {
	name, about string
	of          func(f *Features) *float64
}{
	{"med", "median error, in logits", func(f *Features) *float64 { return f.Med }},
	{"t99", "99 % quantile of errors, in medians", func(f *Features) *float64 { return f.T99 }},
	{"lift", "large errors side by side, over chance", func(f *Features) *float64 { return f.Lift }},
	{"jumps", "part of k3 in short runs of large errors", func(f *Features) *float64 { return f.Jumps }},
	{"eta2", "part of the squares that goes by the log-odds", func(f *Features) *float64 { return f.Eta2 }},
	{"icc", "correlation of errors of one token id", func(f *Features) *float64 { return f.ICC }},
	{"disp", "scatter from response to response, over chance", func(f *Features) *float64 { return f.Disp }},
	{"flip_part", "part of k3 where other experts computed a token", func(f *Features) *float64 { return f.FlipPart }},
}

// signatures puts the features that were measured beside the reference's.
func (r *reference) signatures(f *Features) []Signature {
	var list []Signature
	for i, l := range signatureFeatures {
		if x := l.of(f); x != nil {
			s := r.Signatures[i]
			s.Value = *x
			list = append(list, s)
		}
	}
	return list
}
