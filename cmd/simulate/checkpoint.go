package main

import (
	"fmt"
	"io/fs"

	"driftlab/model"
	"driftlab/results/figure"
	"driftlab/trainer/method"
)

type checkpointCmd struct {
	List   checkpointListCmd   `cmd:"" help:"List the checkpoints inside the binary."`
	Export checkpointExportCmd `cmd:"" help:"Write one to a folder, in Hugging Face's layout."`
}

// Help is the long help text.
func (*checkpointCmd) Help() string {
	return `The base checkpoints inside the binary, small models to start from.

Examples:
  simulate checkpoint list
  simulate checkpoint export chain-base ./chain-base`
}

type checkpointListCmd struct{ jsonFlag }

// checkpointInfo describes a shipped checkpoint.
type checkpointInfo struct {
	Name       string            `json:"name"`
	Parameters int               `json:"parameters"`
	Config     model.Config      `json:"config"`
	Notes      map[string]string `json:"notes"`
}

// Run lists the checkpoints.
func (c *checkpointListCmd) Run(a *app) error {
	infos := []checkpointInfo{}
	t := &figure.Figure{Kind: figure.Table, Columns: []figure.Column{{Name: "checkpoint"}, {Name: "parameters", Align: figure.Right},
		{Name: "layers", Align: figure.Right}, {Name: "width", Align: figure.Right}, {Name: "experts"}, {Name: "vocabulary", Align: figure.Right}, {Name: "context", Align: figure.Right}}}
	for _, name := range model.Shipped() {
		ck, err := model.Open(name)
		if err != nil {
			return err
		}
		m := ck.Params.Config
		infos = append(infos, checkpointInfo{name, m.Params(), m, ck.Notes})
		experts := "dense"
		if !m.Dense() {
			experts = fmt.Sprintf("%d, top %d", m.Experts, m.TopK)
		}
		t.Add(figure.Word(name).As(figure.Strong), figure.Word(fmt.Sprint(m.Params())), figure.Word(fmt.Sprint(m.Layers)),
			figure.Word(fmt.Sprint(m.DModel)), figure.Word(experts), figure.Word(fmt.Sprint(m.Vocab)), figure.Word(fmt.Sprint(m.Context)))
	}
	if c.JSON {
		return a.printJSON(infos)
	}
	a.printTable(t)
	return nil
}

type checkpointExportCmd struct {
	Name string `arg:"" complete:"checkpoints" help:"The checkpoint's name."`
	Dir  string `arg:"" help:"The folder to write; it must be new or empty."`
	jsonFlag
}

// Run writes a checkpoint's files.
func (c *checkpointExportCmd) Run(a *app) error {
	files, err := model.ShippedFiles(c.Name)
	if err != nil {
		return badInput{fmt.Errorf("checkpoint: %w", method.UnknownName(c.Name, model.Shipped()))}
	}
	if err := emptyFolder(c.Dir); err != nil {
		return err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return err
	}
	written := []string{}
	for _, e := range entries {
		data, err := fs.ReadFile(files, e.Name())
		if err != nil {
			return err
		}
		if err := writeFile(c.Dir, e.Name(), data); err != nil {
			return err
		}
		written = append(written, e.Name())
	}
	if c.JSON {
		return a.printJSON(struct {
			Name  string   `json:"name"`
			Dir   string   `json:"dir"`
			Files []string `json:"files"`
		}{c.Name, c.Dir, written})
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", c.Dir, names(entries))
	return nil
}
