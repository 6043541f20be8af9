package reader_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"driftlab/experiments/diagnose/reader"
	"driftlab/precision/must"
)

// TRL's files are compressed, with dictionaries, and a conversation is a list of messages.
func TestParquet(t *testing.T) {
	type message struct {
		Role    string `parquet:"role,dict"`
		Content string `parquet:"content"`
	}
	type row struct {
		Step       int64     `parquet:"step,snappy"`
		Prompt     string    `parquet:"prompt,dict,snappy"`
		Completion []message `parquet:"completion,list"`
		Accuracy   float64   `parquet:"accuracy_reward,snappy"`
		Format     *float64  `parquet:"format_reward,optional,zstd"`
		Advantage  float64   `parquet:"advantage"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	half := 0.5
	for i := range 300 {
		r := row{Step: 41, Prompt: fmt.Sprint("p", i/8), Completion: []message{{"assistant", "a"}, {"tool", fmt.Sprint(i)}}, Accuracy: float64(i % 2), Advantage: -3}
		if i%2 == 0 {
			r.Format = &half
		}
		must.Get(w.Write([]row{r}))(t)
	}
	must.Do(t, w.Close())
	rows, about, err := readBytes(b.Bytes())
	if err != nil || about.Format != "trl" || about.Step != 41 || len(rows) != 300 || about.Used != 0 {
		t.Fatalf("%v, %d rows, %+v", err, len(rows), about)
	}
	if r := rows[17]; r.PromptText != "p2" || r.Text != "a17" || r.Reward != 1 {
		t.Errorf("%+v", r)
	}
	if rows[16].Reward != 0.5 {
		t.Errorf("the reward functions give %v together", rows[16].Reward)
	}
}

// A footer that says it is longer than the file is refused before room is made for it.
func TestParquetLongFooter(t *testing.T) {
	_, _, err := readBytes([]byte("PAR1" + strings.Repeat("x", 100) + "\x00\x00\x00\xc0PAR1"))
	if refused := (*reader.Refused)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "its footer is cut, or longer than the file") {
		t.Error(err)
	}
}
