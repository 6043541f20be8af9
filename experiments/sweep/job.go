package sweep

import (
	"embed"
	"io"
	"strconv"
	"strings"
	"text/template"
)

//go:embed jobs
var jobFiles embed.FS

// Job is what a cluster's job file says of a sweep.
type Job struct {
	// File and Out are the sweep's file and folder where the job runs.
	File, Out string
	// Parts is how many shards there are.
	Parts int
}

// Name is the job's, in the letters that clusters take.
func (j Job) Name() string {
	name := strings.TrimSuffix(strings.TrimSuffix(fileName(strings.ToLower(j.File[strings.LastIndexAny(j.File, `/\`)+1:])), ".yaml"), ".yml")
	return "sweep-" + strings.Trim(strings.NewReplacer(".", "-", "_", "-").Replace(name), "-")
}

// Last is the index of the last part.
func (j Job) Last() int { return j.Parts - 1 }

// Write prints the job file for a cluster: slurm or kubernetes.
func (j Job) Write(w io.Writer, cluster string) error {
	file := map[string]string{"slurm": "slurm.sh", "kubernetes": "kubernetes.yaml"}[cluster]
	t, err := template.New("").Funcs(template.FuncMap{"shell": shell, "quote": strconv.Quote}).ParseFS(jobFiles, "jobs/"+file)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, file, j)
}
