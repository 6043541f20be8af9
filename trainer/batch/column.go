package batch

import (
	"encoding/json"
	"fmt"
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
	Anchor
	Entropy
	EntropyOld
	SumSquares
	DistRoll
	DistOld
	Dist
	DistRef
	DistShadow
	RoutesRoll
	RoutesOld
	GatesRoll
	Version
	Turn
	KeptMass
	Draft
	LogpVerifier
	LogpLaw
	KVKept
	Group
	PromptID
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
	Return
)

var columnNames = [...]string{
	Token: "Token", Mask: "Mask", LogpRoll: "LogpRoll", LogpOld: "LogpOld", LogpBehaviour: "LogpBehaviour", Logp: "Logp",
	LogpRef: "LogpRef", LogpTeacher: "LogpTeacher", Anchor: "Anchor", Entropy: "Entropy", EntropyOld: "EntropyOld", SumSquares: "SumSquares",
	DistRoll: "DistRoll", DistOld: "DistOld", Dist: "Dist", DistRef: "DistRef", DistShadow: "DistShadow",
	RoutesRoll: "RoutesRoll", RoutesOld: "RoutesOld", GatesRoll: "GatesRoll", Version: "Version", Turn: "Turn", KeptMass: "KeptMass",
	Draft: "Draft", LogpVerifier: "LogpVerifier", LogpLaw: "LogpLaw", KVKept: "KVKept", Group: "Group", PromptID: "PromptID",
	Reward: "Reward", RewardParts: "RewardParts", OutcomeParts: "OutcomeParts", GreedyReward: "GreedyReward", Correct: "Correct", ScoreNorm: "ScoreNorm",
	Advantage: "Advantage", TokenReward: "TokenReward", StepReward: "StepReward", Value: "Value", Return: "Return",
}

// String returns the column's name.
func (c Column) String() string { return columnNames[c] }

// Columns are what a method needs. They marshal as a list, also where there are none.
type Columns []Column

// MarshalJSON writes the names.
func (c Columns) MarshalJSON() ([]byte, error) { return json.Marshal(c.Names()) }

// String lists the names.
func (c Columns) String() string { return strings.Join(c.Names(), ", ") }

// Names are those of the columns.
func (c Columns) Names() []string {
	names := make([]string, len(c))
	for i, column := range c {
		names[i] = column.String()
	}
	return names
}

// Require returns an error that names the first column of the list that has
// not been recorded.
func (b *Batch) Require(columns ...Column) error {
	for _, c := range columns {
		if at, want := b.at(c); at.len() != want {
			return fmt.Errorf("batch: column %s has %d entries, need %d: record it before this stage", c, at.len(), want)
		}
	}
	return nil
}

// Forget makes columns as if they had not been recorded.
func (b *Batch) Forget(columns ...Column) {
	for _, c := range columns {
		at, _ := b.at(c)
		at.forget()
	}
}

// field is a column of a batch, whatever its type.
type field interface {
	len() int
	forget()
}

type fieldOf[T any] struct{ column *[]T }

func (f fieldOf[T]) len() int { return len(*f.column) }
func (f fieldOf[T]) forget()  { *f.column = nil }

func fielded[T any](column *[]T) field { return fieldOf[T]{column} }

// at is the column, and the number of entries it takes.
func (b *Batch) at(c Column) (at field, want int) {
	n, rows := b.Tokens(), b.Len()
	switch c {
	case Token:
		return fielded(&b.Token), n
	case Mask:
		return fielded(&b.Mask), n
	case LogpRoll:
		return fielded(&b.LogpRoll), n
	case LogpOld:
		return fielded(&b.Old.Logp), n
	case LogpBehaviour:
		return fielded(&b.Behaviour.Logp), n
	case Logp:
		return fielded(&b.Now.Logp), n
	case LogpRef:
		return fielded(&b.Ref.Logp), n
	case LogpTeacher:
		return fielded(&b.Teacher.Logp), n
	case Anchor:
		return fielded(&b.Anchor), n
	case Entropy:
		return fielded(&b.Now.Entropy), n
	case EntropyOld:
		return fielded(&b.Old.Entropy), n
	case SumSquares:
		return fielded(&b.Old.SumSquares), n
	case DistRoll:
		return fielded(&b.DistRoll), n * b.Vocab
	case DistOld:
		return fielded(&b.Old.Dist), n * b.Vocab
	case Dist:
		return fielded(&b.Now.Dist), n * b.Vocab
	case DistRef:
		return fielded(&b.Ref.Dist), n * b.Vocab
	case DistShadow:
		return fielded(&b.Shadow.Dist), n * b.Vocab
	case RoutesRoll:
		return fielded(&b.RoutesRoll), n * b.Layers * b.TopK
	case RoutesOld:
		return fielded(&b.Old.Routes), n * b.Layers * b.TopK
	case GatesRoll:
		return fielded(&b.GatesRoll), n * b.Layers * b.TopK
	case Version:
		return fielded(&b.Version), n
	case Turn:
		return fielded(&b.Turn), n
	case KeptMass:
		return fielded(&b.KeptMass), n
	case Draft:
		return fielded(&b.Draft), n
	case LogpVerifier:
		return fielded(&b.LogpVerifier), n
	case LogpLaw:
		return fielded(&b.LogpLaw), n
	case KVKept:
		// A cache that was never compressed has no shape either.
		return fielded(&b.KVKept), max(n*b.KVPlanes*b.KVWords, 1)
	case Group:
		return fielded(&b.Group), rows
	case PromptID:
		return fielded(&b.PromptID), rows
	case Reward:
		return fielded(&b.Reward), rows
	case RewardParts:
		return fielded(&b.RewardParts), rows
	case OutcomeParts:
		return fielded(&b.OutcomeParts), rows
	case GreedyReward:
		return fielded(&b.GreedyReward), rows
	case Correct:
		return fielded(&b.Correct), rows
	case ScoreNorm:
		return fielded(&b.ScoreNorm), rows
	case Advantage:
		return fielded(&b.Advantage), n
	case TokenReward:
		return fielded(&b.TokenReward), n
	case StepReward:
		return fielded(&b.StepReward), n
	case Value:
		return fielded(&b.Value), n
	case Return:
		return fielded(&b.Return), n
	}
	panic(fmt.Sprintf("batch: no column %d", c))
}

// Zeroed returns a column of n zeroes, in x's memory where it suffices.
func Zeroed[T any](x []T, n int) []T { return column.Zeroed(x, n) }
