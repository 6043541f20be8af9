package lab

import (
	"embed"
	"encoding/json"
	"fmt"
	"path"

	"go.yaml.in/yaml/v4"

	"driftlab/results/figure"
)

// written lessons, and the recipes of the free tab.
//
//go:embed lessons
var texts embed.FS

// authored is a lesson as its file has it: figures in the texts are placeholders,
// such as {kept32}, that name one of Figures.
type authored struct {
	Lesson `yaml:",inline"`
	// Figures are those that texts and truths name.
	Figures map[string]figureSource
	// Truth gives each guess's answer by its key: the name of a figure, a list of
	// them for a curve, for a rank its options with what they are ordered by, the
	// highest first, and for a choice its options with shares, of which the first
	// above one half is the answer; the option without a share if there is none.
	Truth map[string]any
}

// figureSource says where a figure of a lesson is published. One of From, Claim and Work
// is set.
type figureSource struct {
	// From is a JSON file below results/published, Field where in it.
	From  string `yaml:"from"`
	Field string `yaml:"field"`
	// Claim is one whose observations are meant: an entry of a series, such as
	// "natural product 2[0]", in each replication, divided by Over where that is set.
	// Of says what is taken over the replications: min, max or, when empty, the mean.
	Claim string `yaml:"claim"`
	Over  string `yaml:"over"`
	Of    string `yaml:"of"`
	// Work is arithmetic over other figures of the lesson.
	Work string `yaml:"work"`
	// Show is how it is written, for fmt; one that ends in %% shows a share in percent.
	Show string `yaml:"show"`
}

// load reads a file of lessons/, every field of which must be known.
func load(name string, into any) error {
	text, err := texts.ReadFile(path.Join("lessons", name+".yaml"))
	if err != nil {
		return err
	}
	return yaml.Load(text, into, yaml.WithKnownFields())
}

// Written is a lesson as its file has it, before figures are set in: what a recording is made of.
func Written(name string) (*Lesson, error) {
	var a authored
	err := load(name, &a)
	return &a.Lesson, err
}

// Recording is the file of a recording that is figures.
func Recording(panels []figure.Figure) ([]byte, error) {
	list, err := lines(panels)
	return fmt.Appendf(nil, "{\"panels\":%s}\n", list), err
}

// lines is a list in JSON, an item a line, for changes to be seen.
func lines[T any](list []T) ([]byte, error) {
	out := []byte("[\n")
	for i := range list {
		line, err := json.Marshal(&list[i])
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ",\n"...)
		}
		out = append(out, line...)
	}
	return append(out, "\n]"...), nil
}
