package diagnose_test

import (
	"fmt"
	"os"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
)

func Example() {
	f, err := os.Open("../../testdata/dumps/slime/temp/train_data/6.pt")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		panic(err)
	}
	a := diagnose.New(diagnose.Options{})
	if err := a.Read(reader.Input{Name: "6.pt", At: f, Size: info.Size()}); err != nil {
		panic(err)
	}
	r := a.Report()
	fmt.Println(r.Verdict.State, r.Verdict.Causes)
	fmt.Println(r.Verdict.Next)
	// Output:
	// repair [sampler]
	// the same temperature on both sides; no importance correction before that
}
