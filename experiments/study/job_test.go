package study

import (
	"bytes"
	"strings"
	"testing"

	"driftlab/precision/must"
	"driftlab/results/record"

	"go.yaml.in/yaml/v4"
)

// TestJob: what Kubernetes and Slurm read of their files is there, whatever the
// names hold. That a part does what its variables say, the script of the command
// tests.
func TestJob(t *testing.T) {
	j := ClusterJob{Args: []string{"my sweeps/Screen_2.yaml", "--set", "loss={name: gspo}"}, Out: "runs/it's", Parts: 12, Partition: "cpu", CPUs: 2, Memory: "3G", Time: "1-0", Image: "r/s:1"}
	must.Do(t, j.Validate())
	var b bytes.Buffer
	must.Do(t, j.Write(&b, "kubernetes"))
	var doc struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct {
					Containers []struct {
						Command []string
						Env     []struct{ Name, Value string }
					}
				}
			}
		}
	}
	if err := yaml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	c := doc.Spec.Template.Spec.Containers[0]
	if doc.Kind != "Job" || doc.Metadata.Name != "sweep-screen-2" || doc.Spec.CompletionMode != "Indexed" || doc.Spec.Completions != 12 {
		t.Errorf("%+v", doc)
	}
	if len(c.Env) != 1 || c.Env[0].Name != "JOB_COMPLETIONS" || c.Env[0].Value != "12" {
		t.Errorf("environment %+v", c.Env)
	}
	if got := strings.Join(c.Command, "|"); got != "simulate|sweep|my sweeps/Screen_2.yaml|--set|loss={name: gspo}|--out|runs/it's|--workers|2" {
		t.Errorf("command %s", got)
	}
	b.Reset()
	must.Do(t, j.Write(&b, "slurm"))
	for _, want := range []string{"#!/bin/sh\n", "\n#SBATCH --array=0-11\n#SBATCH --partition=cpu\n#SBATCH --ntasks=1\n#SBATCH --cpus-per-task=2\n#SBATCH --mem=3G\n#SBATCH --time=1-0\n",
		`simulate sweep 'my sweeps/Screen_2.yaml' --set 'loss={name: gspo}' --out 'runs/it'\''s' --shard "$SLURM_ARRAY_TASK_ID/12"`, "--wrap " + record.ShellWord(j.Merge()) + "\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// TestJobValidate: what no cluster could read is refused by its flag.
func TestJobValidate(t *testing.T) {
	whole := ClusterJob{Args: []string{"s.yaml"}, Parts: 1, CPUs: 1, Memory: "4G", Time: "08:00:00", Image: "r/s"}
	for flag, change := range map[string]func(j *ClusterJob){
		"": func(*ClusterJob) {}, "--memory": func(j *ClusterJob) { j.Memory = "4 GB" }, "--time": func(j *ClusterJob) { j.Time = "2h" },
		"--partition": func(j *ClusterJob) { j.Partition = "a\nb" }, "--account": func(j *ClusterJob) { j.Account = "a b" }, "--image": func(j *ClusterJob) { j.Image = "a;b" },
	} {
		j := whole
		change(&j)
		if err := j.Validate(); (err == nil) != (flag == "") || err != nil && !strings.HasPrefix(err.Error(), flag+" ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
