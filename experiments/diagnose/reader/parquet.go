package reader

import (
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
)

// readParquet reads TRL's completions_{step}.parquet: step, prompt, completion, a
// column for every reward function, advantage. Conversations are lists of messages,
// whose texts are put one after the other.
func (f *File) readParquet(in file, visit func(*Row) error) (err error) {
	defer func() {
		if p := recover(); p != nil { // of the library, on a file that is broken
			err = &Refused{in.name, fmt.Sprintf("a broken Parquet file: %v", p), "write it again"}
		}
	}()
	table, err := parquet.OpenFile(in.at, in.size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return &Refused{in.name, fmt.Sprintf("a broken Parquet file: %v", err), "write it again"}
	}
	var names []string
	has := map[string]bool{}
	for _, path := range table.Schema().Columns() {
		name := path[0]
		if len(path) > 1 && path[len(path)-1] != "content" {
			name = "" // a message's role
		}
		names = append(names, name)
		has[path[0]] = true
	}
	if !has["completion"] || !has["prompt"] {
		return &Refused{in.name, fmt.Sprintf("a Parquet file with the columns %q", names), "TRL's have prompt and completion"}
	}
	f.Format = "trl"
	for _, group := range table.Metadata().RowGroups {
		for _, c := range group.Columns {
			if n := c.MetaData.TotalUncompressedSize; n > chunkBytes || n < 0 {
				return &Refused{in.name, fmt.Sprintf("a Parquet file with a column chunk of %d bytes, above %d MiB", n, chunkBytes>>20), "write smaller row groups"}
			}
		}
	}
	for _, group := range table.RowGroups() {
		if err := f.readGroup(group, names, visit); err != nil {
			return err
		}
	}
	return nil
}

// readGroup reads the rows of a group of a Parquet file.
func (f *File) readGroup(group parquet.RowGroup, names []string, visit func(*Row) error) error {
	rows := group.Rows()
	defer rows.Close()
	buffer := make([]parquet.Row, 64)
	for {
		n, err := rows.ReadRows(buffer)
		for _, values := range buffer[:n] {
			var row Row
			row.reset()
			row.Line = f.Rows + 1
			trlRow(&row, values, names)
			if err := f.send(&row, visit); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil || n == 0 {
			f.damage(f.Rows+1, 0, fmt.Sprintf("the rest cannot be read: %v", err))
			return nil
		}
	}
}

// trlRow fills a row. Its reward is the sum of what the reward functions say.
func trlRow(row *Row, values []parquet.Value, names []string) {
	for _, v := range values {
		if v.IsNull() || v.Column() >= len(names) {
			continue
		}
		switch name := names[v.Column()]; {
		case name == "prompt" && v.Kind() == parquet.ByteArray:
			row.PromptText += string(v.ByteArray())
		case name == "completion" && v.Kind() == parquet.ByteArray:
			row.Text += string(v.ByteArray())
		case name == "step":
			row.Step = int(v.Int64())
		case name != "" && name != "advantage" && (v.Kind() == parquet.Double || v.Kind() == parquet.Float):
			x := v.Double()
			if v.Kind() == parquet.Float {
				x = float64(v.Float())
			}
			if row.Reward != row.Reward {
				row.Reward = 0
			}
			row.Reward += x
		}
	}
}
