package sweep

import (
	"bytes"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestJob: what Kubernetes and Slurm read of their files is there, whatever the
// names hold. That a part does what its variables say, the script of the command
// tests.
func TestJob(t *testing.T) {
	j := Job{File: "my sweeps/Screen_2.yaml", Out: "runs/it's", Parts: 12}
	var b bytes.Buffer
	if err := j.Write(&b, "kubernetes"); err != nil {
		t.Fatal(err)
	}
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
	if got := strings.Join(c.Command, "|"); got != "simulate|sweep|my sweeps/Screen_2.yaml|--out|runs/it's" {
		t.Errorf("command %s", got)
	}
	b.Reset()
	if err := j.Write(&b, "slurm"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"#!/bin/sh\n", "\n#SBATCH --array=0-11\n", `exec simulate sweep 'my sweeps/Screen_2.yaml' --out 'runs/it'\''s' --shard "$SLURM_ARRAY_TASK_ID/12"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}
