package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// eachStep calls visit for every complete line of a record until it returns
// false. Steps follow one another from 0, the evaluation before the first
// update, or 1; a line that is missing is an error at the next one. Bytes after the
// last newline are a line that a killed process was still writing: they are left out.
func eachStep(path string, data []byte, visit func(step int, metrics []Metric) bool) error {
	var metrics []Metric
	last, n := -1, 0
	for line := range bytes.Lines(data) {
		line, whole := bytes.CutSuffix(line, []byte("\n"))
		if !whole {
			break
		}
		n++
		step, row, err := readStep(metrics[:0], line)
		switch {
		case err != nil || follows(step, last):
		case last < 0:
			err = fmt.Errorf("the first step is %d", step)
		default:
			err = fmt.Errorf("step %d follows step %d", step, last)
		}
		if err != nil {
			return &FolderError{Path: fmt.Sprintf("%s:%d", path, n), Problem: err.Error(),
				Fix: "the record is damaged: remove the folder and run again", Err: err}
		}
		if metrics, last = row, step; !visit(step, row) {
			break
		}
	}
	return nil
}

// readStep reads one line: its step and its metrics, in order, appended to dst.
func readStep(dst []Metric, line []byte) (int, []Metric, error) {
	rest, headed := bytes.CutPrefix(line, []byte(`{"step":`))
	end := bytes.IndexAny(rest, ",}")
	if !headed || end < 0 || !json.Valid(line) {
		return 0, dst, errors.New("not a step record")
	}
	step, err := strconv.Atoi(string(rest[:end]))
	if err != nil || step < 0 {
		return 0, dst, fmt.Errorf("step %q is not a whole number", rest[:end])
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	for range 3 { // the opening brace, "step" and its value
		dec.Token()
	}
	first := len(dst)
	if dst, err = readMetrics(dst, dec); err == nil {
		err = checkNames(dst[first:])
	}
	return step, dst, err
}

// readMetrics reads the rest of an object whose opening brace dec has passed:
// name, value, ... up to the closing brace, in order.
func readMetrics(dst []Metric, dec *json.Decoder) ([]Metric, error) {
	for {
		key, err := dec.Token()
		if err == io.EOF {
			return dst, fmt.Errorf("the object is not closed")
		}
		if err != nil {
			return dst, err
		}
		if key == json.Delim('}') {
			return dst, nil
		}
		name := key.(string) // a key is a string: the decoder has checked it
		var value Number
		if err := dec.Decode(&value); err != nil {
			return dst, fmt.Errorf("metric %q: %v", name, err)
		}
		dst = append(dst, Metric{name, float64(value)})
	}
}
