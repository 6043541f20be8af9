package main

import (
	"fmt"
	"os"
	"path/filepath"

	"driftlab/results/record"
	"driftlab/trainer/method/loss/scaffold"
)

type newCmd struct {
	Loss newLossCmd `cmd:"" help:"Write the file of a new loss and its line in the registry."`
}

type newLossCmd struct {
	Name string `arg:"" help:"The name that recipes will use, such as tanh_pg."`
}

// Run writes the files.
func (c *newLossCmd) Run(a *app) error {
	root, err := scaffold.Root(".")
	if err != nil {
		return badInput{fmt.Errorf("new loss: %w", err)}
	}
	files, err := scaffold.Loss(root, c.Name)
	if err != nil {
		return badInput{fmt.Errorf("new loss: %w", err)}
	}
	for _, f := range files {
		path := filepath.Join(root, filepath.FromSlash(f.Path))
		if err := record.WriteFile(filepath.Dir(path), filepath.Base(path), []byte(f.Text)); err != nil {
			return err
		}
		here, _ := os.Getwd() // "" if it is gone
		if shown, err := filepath.Rel(here, path); err == nil {
			path = shown
		}
		fmt.Fprintf(a.stdout, "Wrote %s\n", path)
	}
	fmt.Fprintf(a.stdout, `Next: change its formula; go test ./trainer/method/loss reports what else must change with it. Then compare it with GRPO (none)
and truncated importance sampling (token_tis-2), with a low-precision router and with stale rollouts (off-policy lag of 16 updates);
on two cores it takes about 3 minutes:

  go run ./cmd/simulate sweep quick --loss %[1]s --only method=none+token_tis-2+%[1]s,stressor=matched+router4+age16 --out runs/%[1]s
`, c.Name)
	return nil
}
