package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// eachLine calls visit for every complete line of data, with the offset after
// it, until visit returns false. Bytes after the last newline are a line that
// a killed process was still writing: they are left out. Errors of visit are
// given the file and the line.
func eachLine(path string, data []byte, visit func(line []byte, end int64) (bool, error)) error {
	from := 0
	for n := 1; ; n++ {
		length := bytes.IndexByte(data[from:], '\n')
		if length < 0 {
			return nil
		}
		end := from + length + 1
		more, err := visit(data[from:end-1], int64(end))
		if err != nil {
			return &FolderError{Path: fmt.Sprintf("%s:%d", path, n), Problem: err.Error(),
				Fix: "the record is damaged: remove the folder and run again", Err: err}
		}
		if !more {
			return nil
		}
		from = end
	}
}

// stepOf reads the step at the head of a line and checks that the line is a
// whole JSON object.
func stepOf(line []byte) (int, error) {
	const head = `{"step":`
	if !bytes.HasPrefix(line, []byte(head)) || !json.Valid(line) {
		return 0, fmt.Errorf("not a step record")
	}
	rest := line[len(head):]
	end := bytes.IndexAny(rest, ",}")
	if end < 0 {
		return 0, fmt.Errorf("not a step record")
	}
	step, err := strconv.Atoi(string(rest[:end]))
	if err != nil || step < 0 {
		return 0, fmt.Errorf("step %q is not a whole number", rest[:end])
	}
	return step, nil
}

// readStep reads one line: its step and its metrics, in order, appended to dst.
func readStep(dst []Metric, line []byte) (int, []Metric, error) {
	step, err := stepOf(line)
	if err != nil {
		return 0, dst, err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	dec.Token() // the opening brace, which stepOf has seen
	dec.Token() // "step"
	dec.Token() // and its value
	first := len(dst)
	dst, err = readMetrics(dst, dec)
	if err != nil {
		return 0, dst, err
	}
	if err := checkNames(dst[first:]); err != nil {
		return 0, dst, err
	}
	return step, dst, nil
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
