package study

// What a declared check compares.
const (
	statisticLimit = "limit"
	statisticLevel = "level"
	statisticFinal = "final"
)

// Declared is a check that was written down before the runs.
type Declared struct {
	// Name says what is expected, Alternative what is true otherwise; Primary marks those that the conclusion rests on.
	Name        string `yaml:"name" json:"name"`
	Alternative string `yaml:"alternative" json:"alternative,omitempty"`
	Primary     bool   `yaml:"primary" json:"primary,omitempty"`
	// Statistic is limit (a ratio of the arms' limits), level (a difference of their levels) or final (a difference of their last pass
	// rates at one learning rate).
	Statistic string `yaml:"statistic" json:"statistic"`
	// Arms are compared with Over, by their values without the rate: "64, none". Several are adjusted together.
	Arms []string `yaml:"arms" json:"arms"`
	Over string   `yaml:"over" json:"over"`
	// At is the learning rate of final; HalfLimit names in its place the arm at half of whose limit it is. The nearest rate of the ladder
	// counts.
	At        float64 `yaml:"at" json:"at,omitempty"`
	HalfLimit string  `yaml:"half limit of" json:"half limit of,omitempty"`
	// Needs is above, below or within: the interval of a ratio lies above or below Bound, or within a factor of it; that of a
	// difference above or below Bound, or within it on both sides.
	Needs string  `yaml:"needs" json:"needs"`
	Bound float64 `yaml:"bound" json:"bound"`
}
