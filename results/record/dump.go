package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// DumpLine is one sampled sequence of a per-token dump: one JSON object per
// line, for anyone's own analysis. A list has one entry per response token, in
// order, unless it is named after the prompt. A list that was not recorded is
// null, never zeros. Log-probs are natural logarithms.
//
// A line and the weights of its versions are all that its log-probs depend on,
// but for what a recipe keeps from step to step or replays in addition to routes: the
// scales of a static KV cache and recorded gates.
type DumpLine struct {
	// Run is the run's name and Step the training step, from 1; 0 for a measurement without training.
	Run  string `json:"run"`
	Step int    `json:"step"`
	// Sample numbers the sequences of a step, Group their prompt groups, both from 0.
	Sample int `json:"sample"`
	Group  int `json:"group"`
	// PromptID names the prompt within the task, Difficulty is the value of the task's knob.
	PromptID   int64 `json:"prompt_id"`
	Difficulty int   `json:"difficulty"`
	// PromptIDs are the prompt's tokens, the first is BOS.
	PromptIDs []int32 `json:"prompt_ids"`
	// TokenIDs are the response tokens; Mask is false on tokens the policy did not generate.
	TokenIDs []int32 `json:"token_ids"`
	Mask     []bool  `json:"mask"`
	// Finished is false where the response was cut before its stop token.
	Finished bool `json:"finished"`
	// LogpRollout, LogpOld and LogpNew are the sampled token's log-prob in the rollout engine, in the
	// learner before the step's first update, and in the learner's training forward: that of the last update the
	// token took part in, before the update. With one update per step, LogpNew is LogpOld.
	LogpRollout Floats `json:"logp_rollout"`
	LogpOld     Floats `json:"logp_old"`
	LogpNew     Floats `json:"logp_new"`
	// Advantage is per token, Reward per sequence.
	Advantage Floats  `json:"advantage"`
	Reward    float64 `json:"reward"`
	// Correct and Format are the verifier's verdict, whatever the reward makes of it: a right answer, and the form
	// of a demonstration.
	Correct bool `json:"correct"`
	Format  bool `json:"format"`
	// Version is the number of updates in the weights that produced each token.
	Version []int32 `json:"version"`
	// Temperature, TopP and TopK are the sampling settings; TopK 0 keeps the whole vocabulary.
	Temperature float64 `json:"temperature"`
	TopP        float64 `json:"top_p"`
	TopK        int     `json:"top_k"`
	// KeptMass is the probability that the sampling support kept, 1 without top-p and top-k; Support are its tokens,
	// null for the whole vocabulary.
	KeptMass Floats    `json:"kept_mass"`
	Support  [][]int32 `json:"support"`
	// RoutesRollout and RoutesLearner are the experts each token visited, [token][layer][rank].
	RoutesRollout Routes `json:"routes_rollout"`
	RoutesLearner Routes `json:"routes_learner"`
	// PromptRoutesRollout and PromptRoutesLearner are the routes of the prompt's tokens but the last, which
	// predicts the first response token.
	PromptRoutesRollout Routes `json:"prompt_routes_rollout"`
	PromptRoutesLearner Routes `json:"prompt_routes_learner"`
	// KVKept is what a compressed KV cache still held for each token.
	KVKept KVMasks `json:"kv_kept"`
	// Draft says what became of each place in speculative decoding: 0 not drafted, 1 a draft that passed, 2 the
	// verifier's token in place of a draft. Window numbers the verifier's passes, -1 for tokens of tools, and
	// DrafterVersion is the drafter's Version, -1 where nothing was drafted.
	Draft          []int32 `json:"draft"`
	Window         []int32 `json:"window"`
	DrafterVersion []int32 `json:"drafter_version"`
	// LogpVerifier is the log-prob in the verifier, LogpLaw that of the distribution from which verification emitted the token.
	LogpVerifier Floats `json:"logp_verifier"`
	LogpLaw      Floats `json:"logp_law"`
	// TurnID numbers the turn of a multi-turn response, from 0.
	TurnID []int32 `json:"turn_id"`
	// LogpBehaviour is the log-prob in the learner at the token's Version, where older weights than the learner's may
	// have sampled. The log-ratio of LogpNew to LogpRollout is then drift (new to old), lag (old to behaviour) and
	// engine (behaviour to rollout), which has what keys of older weights make of it, too.
	LogpBehaviour Floats `json:"logp_behaviour"`
	// Stale is true on tokens that saw keys and values of older weights than their Version's: each position's are of
	// the Version of the token after it, the prompt's of the first token's. Null where none did.
	Stale []bool `json:"stale"`
	// ActualVersion is the number of updates in the oldest tensor of the weights that produced each token: less
	// than Version where a weight sync was not whole. Left out of a run whose recipe has no rollout.weight_sync.
	ActualVersion []int32 `json:"actual_version,omitempty"`
	// LogpTeacher is the log-prob in the teacher of a distillation. Left out without one.
	LogpTeacher Floats `json:"logp_teacher,omitempty"`
	// LearnerVersion is the number of updates in the weights of LogpOld. Left out where it is Step − 1, one update per step.
	LearnerVersion int `json:"learner_version,omitempty"`
}

// dumpNames are the keys of a line, in order, and seldom those that lines of most runs do not have: the tags of DumpLine.
var dumpNames, seldom = func() (names []string, seldom map[string]bool) {
	seldom = map[string]bool{}
	for f := range reflect.TypeFor[DumpLine]().Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
		seldom[name] = options == "omitempty"
	}
	return names, seldom
}()

// columns returns pointers to the fields of a line, by their keys.
func (d *DumpLine) columns(yield func(name string, column any) bool) {
	line := reflect.ValueOf(d).Elem()
	for i, name := range dumpNames {
		if !yield(name, line.Field(i).Addr().Interface()) {
			return
		}
	}
}

// check returns an error when a recorded list does not fit the tokens.
func (d *DumpLine) check() error {
	for name, column := range d.columns {
		n := len(d.TokenIDs)
		if strings.HasPrefix(name, "prompt_") {
			n = max(len(d.PromptIDs)-1, 0)
		}
		length, given := n, false
		switch c := column.(type) {
		case *KVMasks:
			length, given = c.tokens(), c.Kept != nil
		case *Routes:
			recorded := len(c.Expert) > 0 || c.Expert != nil && n > 0 // else there was nothing to record
			if recorded && (c.Layers < 1 || c.TopK < 1 || len(c.Expert) != n*c.Layers*c.TopK) {
				return fmt.Errorf("record: dump: %s has %d entries for %d tokens, %d layers, top-%d", name, len(c.Expert), n, c.Layers, c.TopK)
			}
		default:
			if list := reflect.ValueOf(column).Elem(); list.Kind() == reflect.Slice && name != "prompt_ids" {
				length, given = list.Len(), !list.IsNil()
			}
		}
		if given && length != n {
			return fmt.Errorf("record: dump: %s has %d entries for %d tokens", name, length, n)
		}
	}
	return nil
}

// appendJSON appends the line without its newline. It writes what
// encoding/json would, in a third of its time and without its allocations: a step
// may dump thousands of lists.
func (d *DumpLine) appendJSON(b []byte) ([]byte, error) {
	if err := d.check(); err != nil {
		return b, err
	}
	open := byte('{')
	for name, column := range d.columns {
		if seldom[name] && reflect.ValueOf(column).Elem().IsZero() {
			continue
		}
		b = append(append(append(b, open, '"'), name...), `":`...)
		open = ','
		switch c := column.(type) {
		case *string:
			text, err := json.Marshal(*c)
			if err != nil {
				return b, err
			}
			b = append(b, text...)
		case *int:
			b = strconv.AppendInt(b, int64(*c), 10)
		case *int64:
			b = strconv.AppendInt(b, *c, 10)
		case *bool:
			b = strconv.AppendBool(b, *c)
		case *float64:
			b = AppendFloat(b, *c)
		case *[]int32:
			b = appendInts(b, *c)
		case *[]bool:
			b = appendList(b, *c, strconv.AppendBool)
		case *Floats:
			b = appendList(b, *c, AppendFloat)
		case *[][]int32:
			b = appendList(b, *c, appendInts)
		case *KVMasks:
			b = appendKVMasks(b, *c)
		case *Routes:
			b = appendRoutes(b, *c)
		}
	}
	return append(b, '}'), nil
}

// Routes are the experts that tokens visited, flat in the order
// [token][layer][rank]; in JSON they are nested lists.
type Routes struct {
	Layers, TopK int
	// Expert has Layers*TopK entries per token; nil when not recorded.
	Expert []uint8
}

// MarshalJSON writes the nested lists, or null where nothing was recorded.
func (r Routes) MarshalJSON() ([]byte, error) {
	if per := r.Layers * r.TopK; len(r.Expert) > 0 && (per < 1 || len(r.Expert)%per != 0) {
		return nil, fmt.Errorf("record: routes: %d entries for %d layers, top-%d", len(r.Expert), r.Layers, r.TopK)
	}
	return appendRoutes(nil, r), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Routes) UnmarshalJSON(text []byte) error {
	var nested [][][]uint16 // []uint8 would be read as base64
	if err := json.Unmarshal(text, &nested); err != nil {
		return err
	}
	*r = Routes{}
	if nested == nil {
		return nil
	}
	r.Expert = []uint8{}
	for t, layers := range nested {
		if t == 0 {
			r.Layers = len(layers)
			if r.Layers > 0 {
				r.TopK = len(layers[0])
			}
		}
		if len(layers) != r.Layers {
			return fmt.Errorf("routes: token %d has %d layers, token 0 has %d", t, len(layers), r.Layers)
		}
		for l, ranks := range layers {
			if len(ranks) != r.TopK {
				return fmt.Errorf("routes: token %d, layer %d has %d experts, the first has %d", t, l, len(ranks), r.TopK)
			}
			for _, e := range ranks {
				if e > 255 {
					return fmt.Errorf("routes: expert %d is out of range", e)
				}
				r.Expert = append(r.Expert, uint8(e))
			}
		}
	}
	return nil
}

// KVMasks are the positions that tokens still saw in a compressed KV cache,
// flat in the order [token][plane][word]. In JSON, [token][plane], a plane is a
// hexadecimal number: position p of the sequence, prompt included, is its bit p.
type KVMasks struct {
	// Planes is 1, or one for each layer and key head, in this order; Words is the
	// length of a plane.
	Planes, Words int
	// Kept has bit p%64 of word p/64 set for position p; nil for a full cache.
	Kept []uint64
}

// tokens is how many the masks are of; -1 for masks without a shape.
func (m KVMasks) tokens() int {
	per := m.Planes * m.Words
	if len(m.Kept) == 0 {
		return 0
	}
	if per < 1 || len(m.Kept)%per != 0 {
		return -1
	}
	return len(m.Kept) / per
}

// MarshalJSON writes the nested lists, or null for a full cache.
func (m KVMasks) MarshalJSON() ([]byte, error) {
	if m.tokens() < 0 {
		return nil, fmt.Errorf("record: kv masks: %d words for %d planes of %d", len(m.Kept), m.Planes, m.Words)
	}
	return appendKVMasks(nil, m), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *KVMasks) UnmarshalJSON(text []byte) error {
	var nested [][]string
	if err := json.Unmarshal(text, &nested); err != nil {
		return err
	}
	*m = KVMasks{}
	if nested == nil {
		return nil
	}
	m.Kept = []uint64{}
	for t, planes := range nested {
		if t == 0 && len(planes) > 0 {
			m.Planes, m.Words = len(planes), len(planes[0])/16
		}
		if len(planes) != m.Planes || m.Planes == 0 {
			return fmt.Errorf("kv_kept: token %d has %d planes, token 0 has %d", t, len(planes), m.Planes)
		}
		for _, plane := range planes {
			if m.Words == 0 || len(plane) != 16*m.Words {
				return fmt.Errorf("kv_kept: token %d: want %d hexadecimal digits, have %q", t, max(16*m.Words, 16), plane)
			}
			for w := m.Words; w > 0; w-- { // the last word is written first
				word, err := strconv.ParseUint(plane[16*(w-1):16*w], 16, 64)
				if err != nil {
					return fmt.Errorf("kv_kept: token %d: want hexadecimal digits, have %q", t, plane)
				}
				m.Kept = append(m.Kept, word)
			}
		}
	}
	return nil
}

func appendKVMasks(b []byte, m KVMasks) []byte {
	if m.Kept == nil {
		return append(b, "null"...)
	}
	return appendEach(b, slices.Chunk(m.Kept, max(m.Planes*m.Words, 1)), func(b []byte, planes []uint64) []byte {
		return appendEach(b, slices.Chunk(planes, m.Words), func(b []byte, plane []uint64) []byte {
			b = append(b, '"')
			for _, word := range slices.Backward(plane) {
				b = fmt.Appendf(b, "%016x", word)
			}
			return append(b, '"')
		})
	})
}

// appendEach appends entries as a list.
func appendEach[T any](b []byte, entries iter.Seq[T], entry func([]byte, T) []byte) []byte {
	b = append(b, '[')
	from := len(b)
	for v := range entries {
		if len(b) > from {
			b = append(b, ',')
		}
		b = entry(b, v)
	}
	return append(b, ']')
}

// appendList appends a list, null for nil.
func appendList[T any](b []byte, list []T, entry func([]byte, T) []byte) []byte {
	if list == nil {
		return append(b, "null"...)
	}
	return appendEach(b, slices.Values(list), entry)
}

func appendInts(b []byte, list []int32) []byte {
	return appendList(b, list, func(b []byte, v int32) []byte { return strconv.AppendInt(b, int64(v), 10) })
}

func appendRoutes(b []byte, r Routes) []byte {
	if r.Expert == nil {
		return append(b, "null"...)
	}
	return appendEach(b, slices.Chunk(r.Expert, max(r.Layers*r.TopK, 1)), func(b []byte, token []uint8) []byte {
		return appendEach(b, slices.Chunk(token, r.TopK), func(b []byte, layer []uint8) []byte {
			return appendEach(b, slices.Values(layer), func(b []byte, e uint8) []byte { return strconv.AppendUint(b, uint64(e), 10) })
		})
	})
}

// DumpWriter writes a per-token dump, one JSON object per sampled sequence. A
// name that ends in .gz is compressed, in one gzip member per training step: the
// file can be cut after any step, and where a run was interrupted leaves no trace.
type DumpWriter struct {
	path   string
	file   *os.File
	out    *bufio.Writer // to file and sum
	size   int64         // bytes of the file as far as out was flushed
	sum    hash.Hash     // and their SHA-256
	gz     *gzip.Writer  // nil for plain text
	member bool          // one is open
	step   int           // of its lines
	line   []byte        // reused
	claim  *dumpClaim    // nil unless the dump belongs to a run's folder
}

// DumpMark is how far a dump had come: the length and the SHA-256 of the file.
type DumpMark struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// CreateDump starts a dump at path. A file that is there is not written over,
// and no folder is made. Errors are FolderErrors.
func CreateDump(path string) (*DumpWriter, error) {
	if err := dumpable(path); err != nil {
		return nil, err
	}
	return openDump(path, DumpMark{})
}

// gzipped reports whether the dump of that name is compressed.
func gzipped(path string) bool { return strings.EqualFold(filepath.Ext(path), ".gz") }

// otherFormats are name endings that promise what a dump is not.
var otherFormats = []string{".zst", ".zstd", ".bz2", ".xz", ".lz4", ".br", ".zip", ".tgz", ".tar", ".7z", ".parquet", ".arrow", ".csv", ".tsv", ".npy", ".npz", ".pkl", ".pt", ".safetensors"}

// dumpable returns an error unless a dump can begin at path: its name promises
// JSON lines or gzip, and there is nothing yet, or something empty.
func dumpable(path string) error {
	if ending := strings.ToLower(filepath.Ext(path)); slices.Contains(otherFormats, ending) {
		return &FolderError{Path: path, Problem: "a dump is JSON lines, plain or with gzip, not " + ending, Fix: "choose a name that ends in .jsonl or .jsonl.gz"}
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return &FolderError{Path: dir, Problem: "no such folder", Fix: "make it, or choose another path", Err: err}
	}
	if info, err := os.Stat(path); err == nil && info.Size() > 0 && !info.IsDir() {
		return &FolderError{Path: path, Problem: "this file is there already and is not the dump of this run", Fix: "move it away, or choose another name"}
	}
	return nil
}

// openDump opens a file to go on at a mark, where it is cut.
func openDump(path string, at DumpMark) (*DumpWriter, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fileError(path, err)
	}
	w := &DumpWriter{path: path, file: f, sum: sha256.New()}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() { // a pipe or a device has no end to move
		if err := w.cut(at); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	w.out = bufio.NewWriterSize(counted{w}, 1<<16)
	if gzipped(path) {
		w.gz = gzip.NewWriter(w.out)
	}
	return w, nil
}

// cut drops what follows the mark. It refuses a file that is another one up to
// there, or that another process is writing, before anything is changed.
func (w *DumpWriter) cut(at DumpMark) error {
	if err := lock(w.file); errors.Is(err, errHeld) {
		return &FolderError{Path: w.path, Problem: "another process is writing this dump", Fix: "choose another name"}
	}
	if err := w.verify(at); err != nil {
		return err
	}
	w.size = at.Bytes
	return fileError(w.path, w.file.Truncate(at.Bytes))
}

// verify reads the file up to the mark and returns an error if it is another one.
func (w *DumpWriter) verify(at DumpMark) error {
	n, err := io.Copy(w.sum, io.LimitReader(w.file, at.Bytes))
	if err != nil {
		return fileError(w.path, err)
	}
	refused := &FolderError{Path: w.path, Fix: "put the run's own file there, or choose another folder with --out"}
	switch {
	case n < at.Bytes:
		refused.Problem = fmt.Sprintf("not the dump of this run, or cut short: it has %d bytes, not %d", n, at.Bytes)
	case n > 0 && fmt.Sprintf("%x", w.sum.Sum(nil)) != at.SHA256:
		refused.Problem = fmt.Sprintf("not the dump of this run, or damaged: its first %d bytes are not those that were written", n)
	default:
		return nil
	}
	return refused
}

// counted is the writer below the buffer: it counts and sums what goes out.
type counted struct{ *DumpWriter }

func (c counted) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.sum.Write(p[:n])
	c.size += int64(n)
	return n, err
}

// Write appends one line. It returns an error when a list does not fit the
// tokens or the file cannot be written.
func (w *DumpWriter) Write(d *DumpLine) error {
	line, err := d.appendJSON(w.line[:0])
	w.line = append(line, '\n')
	if err != nil {
		return err
	}
	if w.step != d.Step {
		if err := w.endMember(); err != nil {
			return err
		}
		w.step = d.Step
	}
	var to io.Writer = w.out
	if w.gz != nil {
		if !w.member {
			w.gz.Reset(w.out)
			w.member = true
		}
		to = w.gz
	}
	_, err = to.Write(w.line)
	return fileError(w.path, err)
}

// Mark completes what was written so far, forces it to the disk, and says how
// far the dump has come. It is called between steps.
func (w *DumpWriter) Mark() (DumpMark, error) {
	if err := w.flush(); err != nil {
		return DumpMark{}, err
	}
	// A pipe or a device cannot be forced.
	if err := w.file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return DumpMark{}, fileError(w.path, err)
	}
	return DumpMark{w.size, fmt.Sprintf("%x", w.sum.Sum(nil))}, nil
}

// endMember completes the gzip member that is open.
func (w *DumpWriter) endMember() error {
	if !w.member {
		return nil
	}
	w.member = false
	return fileError(w.path, w.gz.Close())
}

func (w *DumpWriter) flush() error {
	if err := w.endMember(); err != nil {
		return err
	}
	return fileError(w.path, w.out.Flush())
}

// Close completes the file.
func (w *DumpWriter) Close() error {
	if w.gz != nil && w.size == 0 {
		w.member = true // an empty member, for readers that take an empty file for a torn one
	}
	return errors.Join(w.flush(), fileError(w.path, w.file.Close()))
}

// ReadDump calls visit for every line of a dump, plain or compressed, in
// order, until it returns io.EOF. The line is reused: copy what is to be kept. A
// torn last line is left out. Errors name the file and the line.
func ReadDump(path string, visit func(*DumpLine) error) error {
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 1<<16)
	// A stream cut short is a torn last line, whatever layer notices.
	torn := func(err error) bool { return err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) }
	if head, _ := in.Peek(2); bytes.Equal(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if torn(err) {
			return nil // killed before the header was out
		}
		if err != nil {
			return fileError(path, err)
		}
		in = bufio.NewReaderSize(z, 1<<16)
	}
	var d DumpLine
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if torn(err) {
			return nil
		}
		if err != nil {
			return fileError(path, err)
		}
		d = DumpLine{}
		if err = json.Unmarshal(line, &d); err == nil {
			err = d.check()
		}
		if err == nil {
			err = visit(&d)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
}

// dumpClaimFile says, in a run's folder, where its dump is.
const dumpClaimFile = "dump.json"

// dumpClaim ties a dump, which may be anywhere, to the run it belongs to.
type dumpClaim struct {
	// File is the path, from the run's folder where that is possible.
	File string `json:"file"`
	// Whole is the complete dump; nil while the run is unfinished.
	Whole *DumpMark `json:"whole,omitempty"`

	dir string
}

// claimOf reads the claim of a run's folder, nil if it has none.
func claimOf(dir string) (*dumpClaim, error) {
	c, _, err := readOptional[dumpClaim](dir, dumpClaimFile)
	if c != nil {
		c.dir = dir
	}
	return c, err
}

// fromFolder is a path as a claim holds it.
func fromFolder(dir, path string) string {
	from, err := filepath.Abs(dir)
	to, err2 := filepath.Abs(path)
	if err != nil || err2 != nil {
		return path
	}
	if relative, err := filepath.Rel(from, to); err == nil {
		return filepath.ToSlash(relative)
	}
	return to
}

// path is the dump's place for people.
func (c *dumpClaim) path() string {
	if filepath.IsAbs(c.File) {
		return c.File
	}
	return filepath.Join(c.dir, filepath.FromSlash(c.File))
}

func (c *dumpClaim) keep() error {
	text, err := jsonLine(c)
	if err != nil {
		return err
	}
	return writeAtomic(filepath.Join(c.dir, dumpClaimFile), text)
}

// OpenRunDump begins the dump of the run in dir, whose lock the caller holds, or
// takes it up where the run is taken up: after that many steps, at the mark that
// was kept with them, nil if none was. An empty path is for no dump. A dump
// holds every step of its run, so it is refused for a run that has begun
// without one, and a run that has begun with one is not continued without.
// name is the run's, as in the dump's lines.
func OpenRunDump(dir, path, name string, steps int, at *DumpMark) (*DumpWriter, error) {
	claim, err := claimOf(dir)
	if err != nil {
		return nil, err
	}
	switch {
	case path == "" && claim == nil:
		return nil, nil
	case path == "":
		return nil, &FolderError{Path: dir, Problem: "this run is dumped to " + claim.path(),
			Fix: fmt.Sprintf("add --dump %s, or remove %s to go on without", claim.path(), filepath.Join(dir, dumpClaimFile))}
	case steps > 0 && at == nil:
		return nil, &FolderError{Path: dir, Problem: fmt.Sprintf("this run has come to step %d without --dump", steps),
			Fix: "leave the flag out, or choose another folder with --out"}
	}
	mine := claim != nil && claim.File == fromFolder(dir, path)
	if at == nil {
		at = new(DumpMark)
	}
	if at.Bytes == 0 && !(mine && beginsLike(path, name)) {
		if err := dumpable(path); err != nil {
			return nil, err
		}
	}
	w, err := openDump(path, *at)
	if err != nil {
		return nil, err
	}
	w.claim = &dumpClaim{dir: dir, File: fromFolder(dir, path)}
	if err := w.claim.keep(); err != nil {
		return nil, errors.Join(err, w.file.Close())
	}
	return w, nil
}

// beginsLike reports whether a file begins as a dump of a run of that name
// does, if only with the first bytes of one.
func beginsLike(path, name string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	quoted, _ := json.Marshal(name)
	want := fmt.Appendf(nil, `{"run":%s,"step":1,`, quoted)
	if gzipped(path) {
		want = []byte{0x1f, 0x8b, 8, 0}
	}
	head, _ := io.ReadAll(io.LimitReader(f, int64(len(want))))
	return bytes.HasPrefix(want, head)
}

// Finish completes the file and, if it belongs to a run, keeps its size and
// hash with the run.
func (w *DumpWriter) Finish() error {
	if err := w.Close(); err != nil || w.claim == nil {
		return err
	}
	w.claim.Whole = &DumpMark{w.size, fmt.Sprintf("%x", w.sum.Sum(nil))}
	return w.claim.keep()
}

// CheckRunDump returns an error unless path is the whole dump of the finished
// run in dir.
func CheckRunDump(dir, path string) error {
	claim, err := claimOf(dir)
	if err != nil {
		return err
	}
	if claim == nil || claim.Whole == nil {
		return &FolderError{Path: dir, Problem: "this run was made without --dump and will not be run again", Fix: "leave the flag out, or choose another folder with --out"}
	}
	f, err := os.Open(path)
	if err != nil {
		return fileError(path, err)
	}
	defer f.Close()
	w := &DumpWriter{path: path, file: f, sum: sha256.New()}
	if err := w.verify(*claim.Whole); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == claim.Whole.Bytes {
		return fileError(path, err)
	}
	return &FolderError{Path: path, Problem: fmt.Sprintf("not the dump that the run wrote: %d bytes follow its %d", info.Size()-claim.Whole.Bytes, claim.Whole.Bytes),
		Fix: fmt.Sprintf("cut it to %d bytes, or choose another folder with --out", claim.Whole.Bytes)}
}
