package record

// Head heads a column of a table that is written to files.
type Head struct {
	Name string
	Kind Kind
}

// Kind is what a column of a table holds; nil stands for nothing in any of them.
type Kind int

// The kinds.
const (
	// Words are strings.
	Words Kind = iota
	// Whole are int64 or uint64.
	Whole
	// Real are float64, and Short those of which six digits are known.
	Real
	Short
)

// RowWriter takes the rows of a table, in the order of its heads.
type RowWriter interface {
	Write(row []any) error
	Close() error
}
