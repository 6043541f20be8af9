package batch

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"driftlab/engine/column"
)

// Column names a column that a method may need.
type Column uint8

// The columns, under the names of their fields; those of a Scored with its policy.
const (
	Token Column = iota
	Mask
	LogpRoll
	LogpOld
	LogpBehaviour
	Logp
	LogpRef
	LogpTeacher
	Entropy
	EntropyOld
	SumSquares
	DistRoll
	DistOld
	Dist
	DistRef
	DistTeacher
	DistShadow
	RoutesRoll
	RoutesOld
	GatesRoll
	RouterOld
	RouterNow
	Version
	Stale
	Turn
	KeptMass
	Draft
	LogpVerifier
	LogpLaw
	KVKept
	Group
	PromptID
	Finished
	Reward
	RewardParts
	OutcomeParts
	GreedyReward
	Correct
	ScoreNorm
	Advantage
	TokenReward
	StepReward
	Value
	Guided
	Return
	Episode
	PrefixValue
	Anchor
)

// columns are those that have a name.
var columns = [...]named{
	Token:         of("Token", column.PerToken, func(b *Batch) *[]int32 { return &b.Token }),
	Mask:          of("Mask", column.PerToken, func(b *Batch) *[]bool { return &b.Mask }),
	LogpRoll:      of("LogpRoll", column.PerToken, func(b *Batch) *[]float64 { return &b.LogpRoll }),
	LogpOld:       of("LogpOld", column.PerToken, func(b *Batch) *[]float64 { return &b.Old.Logp }),
	LogpBehaviour: of("LogpBehaviour", column.PerToken, func(b *Batch) *[]float64 { return &b.Behaviour.Logp }),
	Logp:          of("Logp", column.PerToken, func(b *Batch) *[]float64 { return &b.Now.Logp }),
	LogpRef:       of("LogpRef", column.PerToken, func(b *Batch) *[]float64 { return &b.Ref.Logp }),
	LogpTeacher:   of("LogpTeacher", column.PerToken, func(b *Batch) *[]float64 { return &b.Teacher.Logp }),
	Entropy:       of("Entropy", column.PerToken, func(b *Batch) *[]float64 { return &b.Now.Entropy }),
	EntropyOld:    of("EntropyOld", column.PerToken, func(b *Batch) *[]float64 { return &b.Old.Entropy }),
	SumSquares:    of("SumSquares", column.PerToken, func(b *Batch) *[]float64 { return &b.Old.SumSquares }),
	DistRoll:      of("DistRoll", column.PerEntry, func(b *Batch) *[]float32 { return &b.DistRoll }),
	DistOld:       of("DistOld", column.PerEntry, func(b *Batch) *[]float32 { return &b.Old.Dist }),
	Dist:          of("Dist", column.PerEntry, func(b *Batch) *[]float32 { return &b.Now.Dist }),
	DistRef:       of("DistRef", column.PerEntry, func(b *Batch) *[]float32 { return &b.Ref.Dist }),
	DistTeacher:   of("DistTeacher", column.PerEntry, func(b *Batch) *[]float32 { return &b.Teacher.Dist }),
	DistShadow:    of("DistShadow", column.PerEntry, func(b *Batch) *[]float32 { return &b.Shadow.Dist }),
	RoutesRoll:    of("RoutesRoll", column.PerRoute, func(b *Batch) *[]uint8 { return &b.RoutesRoll }),
	RoutesOld:     of("RoutesOld", column.PerRoute, func(b *Batch) *[]uint8 { return &b.Old.Routes }),
	GatesRoll:     of("GatesRoll", column.PerRoute, func(b *Batch) *[]float32 { return &b.GatesRoll }),
	RouterOld:     of("RouterOld", column.PerRoute, func(b *Batch) *[]float64 { return &b.Old.RouterLogp }),
	RouterNow:     of("RouterNow", column.PerRoute, func(b *Batch) *[]float64 { return &b.Now.RouterLogp }),
	Version:       of("Version", column.PerToken, func(b *Batch) *[]int32 { return &b.Version }),
	Stale:         of("Stale", column.PerToken, func(b *Batch) *[]bool { return &b.Stale }),
	Turn:          of("Turn", column.PerToken, func(b *Batch) *[]int32 { return &b.Turn }),
	KeptMass:      of("KeptMass", column.PerToken, func(b *Batch) *[]float64 { return &b.KeptMass }),
	Draft:         of("Draft", column.PerToken, func(b *Batch) *[]draftFlag { return &b.Draft }),
	LogpVerifier:  of("LogpVerifier", column.PerToken, func(b *Batch) *[]float64 { return &b.LogpVerifier }),
	LogpLaw:       of("LogpLaw", column.PerToken, func(b *Batch) *[]float64 { return &b.LogpLaw }),
	KVKept:        of("KVKept", column.PerKVWord, func(b *Batch) *[]uint64 { return &b.KVKept }),
	Group:         of("Group", column.PerResponse, func(b *Batch) *[]int { return &b.Group }),
	PromptID:      of("PromptID", column.PerResponse, func(b *Batch) *[]int64 { return &b.PromptID }),
	Finished:      of("Finished", column.PerResponse, func(b *Batch) *[]bool { return &b.Finished }),
	Reward:        of("Reward", column.PerResponse, func(b *Batch) *[]float64 { return &b.Reward }),
	RewardParts:   of("RewardParts", column.PerResponse, func(b *Batch) *[][]float64 { return &b.RewardParts }),
	OutcomeParts:  of("OutcomeParts", column.PerResponse, func(b *Batch) *[][]float64 { return &b.OutcomeParts }),
	GreedyReward:  of("GreedyReward", column.PerResponse, func(b *Batch) *[]float64 { return &b.GreedyReward }),
	Correct:       of("Correct", column.PerResponse, func(b *Batch) *[]bool { return &b.Correct }),
	ScoreNorm:     of("ScoreNorm", column.PerResponse, func(b *Batch) *[]float64 { return &b.ScoreNorm }),
	Advantage:     of("Advantage", column.PerToken, func(b *Batch) *[]float64 { return &b.Advantage }),
	TokenReward:   of("TokenReward", column.PerToken, func(b *Batch) *[]float64 { return &b.TokenReward }),
	StepReward:    of("StepReward", column.PerToken, func(b *Batch) *[]float64 { return &b.StepReward }),
	Value:         of("Value", column.PerToken, func(b *Batch) *[]float64 { return &b.Value }),
	Guided:        of("Guided", column.PerToken, func(b *Batch) *[]bool { return &b.Guided }),
	Return:        of("Return", column.PerToken, func(b *Batch) *[]float64 { return &b.Return }),
	Episode:       of("Episode", column.PerToken, func(b *Batch) *[]int32 { return &b.Episode }),
	PrefixValue:   of("PrefixValue", column.PerToken, func(b *Batch) *[]float64 { return &b.PrefixValue }),
	Anchor:        of("Anchor", column.PerToken, func(b *Batch) *[]float64 { return &b.Anchor }),
}

// named is a column of a batch, whatever its type.
type named struct {
	name   string
	extent column.Extent
	length func(*Batch) int
	forget func(*Batch)
	choose func(dst, src *Batch, rows []int)
}

func of[T any](name string, extent column.Extent, at func(*Batch) *[]T) named {
	return named{name, extent,
		func(b *Batch) int { return len(*at(b)) },
		func(b *Batch) { *at(b) = nil },
		func(dst, src *Batch, rows []int) {
			*at(dst) = column.Gather(*at(dst), *at(src), extent, &src.Sampled, rows)
		}}
}

// String returns the column's name.
func (c Column) String() string { return columns[c].name }

// ColumnNamed is the column of that name, and panics if there is none.
func ColumnNamed(name string) Column {
	at := slices.IndexFunc(columns[:], func(c named) bool { return c.name == name })
	if at < 0 {
		panic(fmt.Sprintf("batch: no column has the name %q", name))
	}
	return Column(at)
}

// Columns are what a method needs. They marshal as a list, also where there are none.
type Columns []Column

// MarshalJSON writes the names.
func (c Columns) MarshalJSON() ([]byte, error) { return json.Marshal(c.Names()) }

// String lists the names.
func (c Columns) String() string { return strings.Join(c.Names(), ", ") }

// Names returns the names of the columns.
func (c Columns) Names() []string {
	names := make([]string, len(c))
	for i, column := range c {
		names[i] = column.String()
	}
	return names
}

// MissingColumn is the error of a column that has not been recorded.
type MissingColumn struct {
	Column     Column
	have, want int
}

// Error names the column and both numbers of entries.
func (m *MissingColumn) Error() string {
	return fmt.Sprintf("batch: column %s has %d entries, need %d: record it before this stage", m.Column, m.have, m.want)
}

// Require returns a MissingColumn of the first column of the list that has
// not been recorded.
func (b *Batch) Require(required ...Column) error {
	for _, c := range required {
		want := columns[c].extent.Entries(&b.Sampled)
		if c == KVKept {
			want = max(want, 1) // a cache that was never compressed has no shape either
		}
		if have := columns[c].length(b); have != want {
			return &MissingColumn{Column: c, have: have, want: want}
		}
	}
	return nil
}

// Forget makes columns as if they had not been recorded.
func (b *Batch) Forget(recorded ...Column) {
	for _, c := range recorded {
		columns[c].forget(b)
	}
}

// Zeroed returns a column of n zeroes, in x's memory where it suffices.
func Zeroed[T any](x []T, n int) []T { return column.Zeroed(x, n) }
