package diagnose

// Topic is what a finding is about.
type Topic string

// The topics.
const (
	Data          Topic = "data"
	Mismatch      Topic = "mismatch"
	Learning      Topic = "learning"
	Configuration Topic = "configuration"
)

// Level is how grave a finding is.
type Level string

// The levels, the gravest first.
const (
	Fault     Level = "fault"
	Warning   Level = "warning"
	Undecided Level = "unknown"
	Note      Level = "note"
)

// Finding is one statement of the report.
type Finding struct {
	ID    string `json:"id"`
	Topic Topic  `json:"topic"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Next  string `json:"next,omitempty"`
	Where string `json:"where,omitempty"`
}
