package golden

import "math"

// SlimeMIS is slime's custom truncation and rejection, as its parameters say it.
type SlimeMIS struct {
	// Level is the unit of the weight: token, sequence or geometric. Floor and Cap
	// truncate it.
	Level      string
	Floor, Cap float64
	// Low and High are the bounds that slime counts weights beyond.
	Low, High float64
	// Ranges reject what leaves them.
	Ranges []SlimeRange
	// Veto is the smallest ratio of a token that a response may contain, 0 for none.
	Veto float64
}

// SlimeRange is a range of the ratio at a level.
type SlimeRange struct {
	Level     string
	Low, High float64
}

// ReadSlimeMIS reads the parameters of a case.
func ReadSlimeMIS(v Values) SlimeMIS {
	high := v.Float("tis_upper_bound")
	m := SlimeMIS{Level: v.String("tis_level"), Cap: high, Low: v.FloatOr("tis_lower_bound", 1/high), High: high}
	switch v.String("tis_mode") {
	case "clip":
		m.Floor = m.Low
	case "mask":
		m.Cap = math.Inf(1)
		m.Ranges = append(m.Ranges, SlimeRange{m.Level, m.Low, m.High})
	}
	if v.Bool("use_rs") {
		high := v.FloatOr("rs_upper_bound", high)
		m.Ranges = append(m.Ranges, SlimeRange{v.String("rs_level"), v.FloatOr("rs_lower_bound", v.FloatOr("tis_lower_bound", 1/high)), high})
		m.Veto = v.FloatOr("rs_veto_threshold", 0)
	}
	return m
}
