package study

import (
	"embed"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"driftlab/results/record"
	"driftlab/results/stats"
)

//go:embed jobs
var jobFiles embed.FS

// ClusterJob is what a cluster's job file says of a sweep.
type ClusterJob struct {
	// Args are the words of the sweep, its file or recipes first, and Out its folder, as
	// they are where the job runs.
	Args []string
	Out  string
	// Parts is how many shards there are.
	Parts int
	// Partition and Account are Slurm's; empty for those that it chooses.
	Partition, Account string
	// CPUs, Memory and Time are the resources of a part: cores, a number with K, M, G or T, and
	// Slurm's time limit, such as 08:00:00.
	CPUs         int
	Memory, Time string
	// Image is Kubernetes' container image.
	Image string
}

var (
	memoryForm = regexp.MustCompile(`^[1-9][0-9]*[KMGT]$`)
	timeForm   = regexp.MustCompile(`^([0-9]+|[0-9]+:[0-5][0-9](:[0-5][0-9])?|[0-9]+-[0-9]+(:[0-5][0-9]){0,2})$`)
	wordForm   = regexp.MustCompile(`^[A-Za-z0-9_.,/:@-]*$`)
)

// Validate reports what no cluster could read, by the flag that says it.
func (j ClusterJob) Validate() error {
	for _, f := range []struct {
		flag, value, want string
		form              *regexp.Regexp
	}{
		{"--memory", j.Memory, "give a number with K, M, G or T, such as 4G", memoryForm},
		{"--time", j.Time, "give minutes, hours:minutes:seconds or days-hours, such as 08:00:00", timeForm},
		{"--partition", j.Partition, "give the name of a partition", wordForm},
		{"--account", j.Account, "give the name of an account", wordForm},
		{"--image", j.Image, "give the name of an image, such as registry.example/simulate:latest", wordForm},
	} {
		if !f.form.MatchString(f.value) {
			return fmt.Errorf("%s %q: %s", f.flag, f.value, f.want)
		}
	}
	return nil
}

// Title says in a line what the job runs.
func (j ClusterJob) Title() string {
	return strings.Map(func(r rune) rune {
		if strconv.IsPrint(r) {
			return r
		}
		return ' '
	}, "The sweep "+j.Words())
}

// Name is the job's, in the letters that clusters take.
func (j ClusterJob) Name() string {
	file := j.Args[0]
	name := strings.TrimSuffix(strings.TrimSuffix(fileName(strings.ToLower(file[strings.LastIndexAny(file, `/\`)+1:])), ".yaml"), ".yml")
	return "sweep-" + strings.Trim(strings.NewReplacer(".", "-", "_", "-").Replace(name), "-")
}

// Last is the index of the last part.
func (j ClusterJob) Last() int { return j.Parts - 1 }

// Words are the arguments as a shell takes them.
func (j ClusterJob) Words() string {
	return strings.Join(stats.Map(j.Args, record.ShellWord), " ")
}

// Merge is the command that puts the parts together.
func (j ClusterJob) Merge() string { return "simulate sweep merge " + record.ShellWord(j.Out) }

// Write prints the job file for a cluster: slurm or kubernetes.
func (j ClusterJob) Write(w io.Writer, cluster string) error {
	file := map[string]string{"slurm": "slurm.sh", "kubernetes": "kubernetes.yaml"}[cluster]
	t, err := template.New("").Funcs(template.FuncMap{"shell": record.ShellWord, "quote": strconv.Quote, "list": yamlList}).ParseFS(jobFiles, "jobs/"+file)
	if err != nil {
		return err
	}
	return t.ExecuteTemplate(w, file, j)
}

// yamlList is a list of words, of lists of words and of numbers, in YAML's flow style.
func yamlList(items ...any) string {
	var words []string
	for _, item := range items {
		switch item := item.(type) {
		case []string:
			words = append(words, stats.Map(item, strconv.Quote)...)
		default:
			words = append(words, strconv.Quote(fmt.Sprint(item)))
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}
