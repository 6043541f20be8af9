package reader_test

import (
	"fmt"
	"strings"

	"driftlab/experiments/diagnose/reader"
)

func ExampleRead() {
	dump := `{"logp_rollout": [-0.5, -2], "logp_old": [-0.5, NaN], "mask": [1, 0]}
{"logp_rollout": [-0.5
`
	about, err := reader.Read(reader.Input{Name: "dump.jsonl", Stream: strings.NewReader(dump)}, "", func(r *reader.Row) error {
		fmt.Println(r.Roll, r.Old, r.Mask, r.Token == nil)
		return nil
	})
	fmt.Println(about.Format, about.Rows, about.Damage, err)
	// Output:
	// [-0.5 -2] [-0.5 NaN] [true false] true
	// neutral 1 [{2 92 logp_rollout: the row is cut: the line ends inside it}] <nil>
}
