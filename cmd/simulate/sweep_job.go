package main

import (
	"bytes"
	"cmp"
	"strconv"

	"driftlab/experiments/study"
	"driftlab/results/columnar"
	"driftlab/trainer/recipe"
)

type sweepJobCmd struct {
	Cluster   string   `arg:"" enum:"slurm,kubernetes" help:"slurm or kubernetes."`
	Of        []string `arg:"" name:"file" complete:"files" help:"File of a sweep, at the path that the job sees; with --sweep, recipes."`
	Sweep     []string `sep:"none" help:"Vary a field of the recipes, as sweep does." placeholder:"PATH=VALUE,VALUE" complete:"fields"`
	Seeds     number   `help:"Number of consecutive seeds, as for sweep." default:"0" max:"100000" placeholder:"N"`
	Parts     number   `help:"Number of parts." default:"8" min:"1" max:"100000" placeholder:"N"`
	Partition string   `help:"Partition of Slurm." placeholder:"NAME"`
	Account   string   `help:"Account of Slurm." placeholder:"NAME"`
	CPUs      number   `name:"cpus" help:"Cores of a part." default:"4" min:"1" max:"4096" placeholder:"N"`
	Memory    string   `help:"Memory of a part: a number with K, M, G or T." default:"4G" placeholder:"SIZE"`
	Time      string   `help:"Time limit of a part in Slurm; a part that reaches it is queued again and resumes." default:"08:00:00" placeholder:"H:MM:SS"`
	Image     string   `help:"Container image for Kubernetes, built by cmd/simulate/Containerfile." default:"registry.example/simulate:latest" placeholder:"NAME"`
	recipeFlags
	outFlag
}

// Run prints the file.
func (c *sweepJobCmd) Run(a *app) error {
	j := study.ClusterJob{Args: c.Of, Parts: int(c.Parts), Partition: c.Partition, Account: c.Account, CPUs: int(c.CPUs), Memory: c.Memory, Time: c.Time, Image: c.Image}
	if err := j.Validate(); err != nil {
		return badInput{err}
	}
	if c.Cluster != "slurm" && c.Partition+c.Account != "" {
		return bad("sweep job: --partition and --account are Slurm's: leave them out for %s", c.Cluster)
	}
	if len(c.Sweep) > 0 {
		if _, err := study.ParseFlags(c.Of, c.Sweep); err != nil {
			return err
		}
	} else if len(c.Of) != 1 {
		return bad("sweep job: give one file, or recipes with --sweep")
	}
	j.Out = cmp.Or(c.Out, "runs/"+j.Name())
	for _, text := range c.Sweep {
		j.Args = append(j.Args, "--sweep", text)
	}
	for _, set := range c.Set {
		if _, err := recipe.ParseChange("--set", set); err != nil {
			return err
		}
		j.Args = append(j.Args, "--set", set)
	}
	if c.Seed != nil {
		j.Args = append(j.Args, "--seed", strconv.FormatUint(uint64(*c.Seed), 10))
	}
	if c.Seeds > 0 {
		j.Args = append(j.Args, "--seeds", strconv.Itoa(int(c.Seeds)))
	}
	var file bytes.Buffer
	if err := j.Write(&file, c.Cluster); err != nil {
		return err
	}
	return a.printText(file.Bytes())
}

// tableFlags are the flags of the commands that write a sweep's tables.
type tableFlags struct {
	Steps    bool     `default:"true" negatable:"" help:"Write steps.csv and steps.parquet (large)."`
	Baseline []string `sep:"none" help:"The value of a factor with which its other values are compared; by default the first value." placeholder:"FACTOR=VALUE"`
}

// tables are the choices of the flags for a sweep.
func (f tableFlags) tables(dir string, x *study.Index) (study.Tables, error) {
	baselines, err := x.ParseBaselines(f.Baseline)
	if err != nil {
		return study.Tables{}, bad("--baseline: %w", err)
	}
	return study.Tables{Dir: dir, Steps: f.Steps, Baselines: baselines, Parquet: columnar.New}, nil
}

// finish writes the tables of a sweep, whose index is in a folder, and shows them in out; made is the folder of its runs.
func (f tableFlags) finish(a *app, indexed, made, out string, asJSON bool, write func(study.Tables) (*study.Folder, error)) error {
	if err := ownPage(out, sweepPage); err != nil {
		return err
	}
	x, err := study.ReadIndex(indexed)
	if err != nil {
		return err
	}
	tables, err := f.tables(out, x)
	if err != nil {
		return err
	}
	done, err := write(tables)
	if err != nil {
		return err
	}
	a.noteMissing(done)
	return a.showStudy(done, made, out, sweepPage, asJSON)
}

type sweepMergeCmd struct {
	Dirs []string `arg:"" complete:"dirs" help:"The folders of the parts, or a folder that contains all of them."`
	tableFlags
	outFlag
	jsonFlag
}

func (c *sweepMergeCmd) Run(a *app) error {
	parts := study.Parts(c.Dirs)
	out := cmp.Or(c.Out, c.Dirs[0])
	return c.finish(a, parts[0], out, out, c.JSON, func(t study.Tables) (*study.Folder, error) {
		t.Dir = "" // that of the merged runs
		return study.Merge(parts, out, t)
	})
}

type sweepReportCmd struct {
	Dir string `arg:"" complete:"dirs" help:"A sweep's folder."`
	tableFlags
	outFlag
	jsonFlag
}

func (c *sweepReportCmd) Run(a *app) error {
	return c.finish(a, c.Dir, c.Dir, cmp.Or(c.Out, c.Dir), c.JSON, func(t study.Tables) (*study.Folder, error) { return study.WriteTables(c.Dir, t) })
}
