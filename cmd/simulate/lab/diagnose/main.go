//go:build js

// Diagnose is `simulate diagnose` in a page: it reads the files that a reader chooses, where they are, and answers with the
// document that the command prints. Nothing is sent anywhere.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall/js"

	"driftlab/experiments/diagnose"
	"driftlab/experiments/diagnose/reader"
	"driftlab/experiments/diagnose/tables"
	"driftlab/results/figure"
	"driftlab/results/record"
	"driftlab/results/stability"
	"driftlab/trainer/recipe/foreign"
)

// memory is what the garbage collector keeps the heap below, as that of the command.
const memory = 400 << 20

// request is what the page asks for:
//
//	driftlab('{"id": 1, "config": "algorithm: ...", "top_p": 0.9}', [File, File])
type request struct {
	ID int `json:"id"`
	// Config is the text of a configuration, empty for none; Format, TopP, Temperature and Experts are the flags of the command.
	Config      string  `json:"config"`
	Format      string  `json:"format"`
	TopP        float64 `json:"top_p"`
	Temperature float64 `json:"temperature"`
	Experts     int     `json:"experts"`
}

// reply is what the page hears: how much was read, and in the end a fault or a report.
type reply struct {
	ID    int    `json:"id"`
	Ready string `json:"ready,omitempty"`
	// Read and Of are bytes.
	Read int64 `json:"read,omitempty"`
	Of   int64 `json:"of,omitempty"`
	// Fault is one line, and may stand next to a report of what could be read.
	Fault string `json:"fault,omitempty"`
	// Document is the JSON of `simulate diagnose --json`, byte for byte.
	Document string           `json:"document,omitempty"`
	Tables   []*figure.Figure `json:"tables,omitempty"`
}

func post(r reply) {
	text, err := json.Marshal(r)
	if err != nil {
		panic("diagnose: " + err.Error()) // it has texts and whole numbers
	}
	js.Global().Call("postMessage", string(text))
}

// file is one that the browser holds, read piece by piece.
type file struct {
	value, reader js.Value
	size          int64
	told          func(n int64)
}

func (f *file) ReadAt(b []byte, at int64) (n int, err error) {
	defer func() {
		if p := recover(); p != nil { // the file is gone, or may not be read
			n, err = 0, fmt.Errorf("the browser cannot read it: %v", p)
		}
	}()
	end := min(at+int64(len(b)), f.size)
	if at < end {
		buffer := f.reader.Call("readAsArrayBuffer", f.value.Call("slice", at, end))
		n = js.CopyBytesToGo(b, js.Global().Get("Uint8Array").New(buffer))
		f.told(int64(n))
	}
	if n < len(b) {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer; the browser closes files.
func (*file) Close() error { return nil }

// often is after how many bytes the page gets the progress of the reading.
const often = 1 << 22

// run reads the files and answers.
func run(m request, files []js.Value) {
	total, read, told := int64(0), int64(0), int64(0)
	byPath := map[string]*file{}
	var names []string
	reading := js.Global().Get("FileReaderSync").New()
	for _, f := range files {
		name := f.Get("webkitRelativePath").String() // of a folder that was chosen
		if name == "" || name == "<undefined>" {
			name = f.Get("name").String()
		}
		names = append(names, name)
		byPath[name] = &file{f, reading, int64(f.Get("size").Float()), func(n int64) {
			if read += n; read-told >= often {
				told = read
				post(reply{ID: m.ID, Read: min(read, total), Of: total})
			}
		}}
		total += byPath[name].size
	}
	fault := func(err error) { post(reply{ID: m.ID, Fault: err.Error()}) }
	options := diagnose.Options{Format: m.Format, Rates: stability.PublishedAlarms(), TopP: m.TopP, Temperature: m.Temperature, Experts: m.Experts}
	if strings.TrimSpace(m.Config) != "" {
		var err error
		if options.Config, err = foreign.ReadAs("", "the configuration", []byte(m.Config)); err != nil {
			fault(err)
			return
		}
	}
	a := diagnose.New(options)
	for _, name := range names {
		f := byPath[name]
		err := a.Read(reader.Input{Name: name, At: f, Size: f.size,
			InFolder: func(other string) bool { return byPath[path.Join(path.Dir(name), other)] != nil },
			Open: func(other string) (reader.ReaderAtCloser, int64, error) {
				found := byPath[path.Join(path.Dir(name), other)]
				if found == nil {
					return nil, 0, errors.New("no file")
				}
				return found, found.size, nil
			}})
		if err != nil {
			fault(err)
			return
		}
	}
	report := a.Report()
	document, err := record.Document(report)
	if err != nil {
		fault(err)
		return
	}
	end := reply{ID: m.ID, Document: string(document), Tables: tablesOf(report)}
	if refused := a.Refused(); len(refused) > 0 {
		end.Fault = errors.Join(refused...).Error()
	} else if reason := report.NoRow(); reason != "" {
		end.Fault = strings.Join(names, ", ") + ": " + reason
	}
	post(end)
}

// tablesOf are the tables of a report that have something to show.
func tablesOf(r diagnose.Report) (list []*figure.Figure) {
	for _, t := range []struct {
		title string
		of    *figure.Figure
	}{
		{"Decision table", tables.Decisions(r)}, {"Likely causes", tables.Causes(r)}, {"Checks of the data", tables.Checks(r)},
		{"Effect of each correction on these tokens", tables.Fixes(r, func(string) bool { return true })}, {"Early-warning signals", tables.Alarms(r)}, {"Where sources disagree", tables.Disagreements(r)},
	} {
		if len(t.of.Rows) > 0 {
			t.of.Title = t.title
			list = append(list, t.of)
		}
	}
	return list
}

// receive takes a request and the files that belong to it.
func receive(_ js.Value, args []js.Value) any {
	var m request
	if err := json.Unmarshal([]byte(args[0].String()), &m); err != nil {
		post(reply{Fault: err.Error()})
		return nil
	}
	var files []js.Value
	for i := range args[1].Length() {
		files = append(files, args[1].Index(i))
	}
	go run(m, files)
	return nil
}

func main() {
	debug.SetMemoryLimit(memory)
	js.Global().Set("driftlab", js.FuncOf(receive))
	post(reply{Ready: runtime.Version()})
	select {}
}
