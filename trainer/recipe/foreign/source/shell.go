package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// Bounds on a script.
const (
	maxScript   = 256 << 10 // bytes of it
	maxWork     = 1 << 17   // commands that are looked at, in all runs
	maxValue    = 256 << 10 // bytes that one statement expands to
	maxExpanded = 32 << 20  // bytes of all that is expanded
	maxLoop     = 32        // rounds of a loop that are followed
	maxCalls    = 512       // calls of one function, which bounds its recursion
	maxIndex    = 4096      // index of an array
)

// parseShell follows a script in the shell's interpreter, with nothing set in its environment. No program
// is run and no file is opened: rewriter takes redirections, pipes and background jobs out of the text, and the interpreter's
// handlers answer every command. What a script does not decide by its own text, such as whether a file is
// there, is answered yes first; then the script is followed once more for each such question, answered no.
// The result is a document for each program that is started; settings on which the runs differ are undecided.
func parseShell(text []byte) ([]Document, error) {
	if len(text) > maxScript {
		return nil, fmt.Errorf("too long for a script: the limit is %d bytes", maxScript)
	}
	file, err := parseScript(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("no script: %w", err)
	}
	s := &shell{exits: map[uint]bool{}}
	r := rewriter{shell: s}
	r.file(file)
	if err := s.explore(file); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.runs, func(o outcome) bool { return len(o.commands) > 0 }) && len(r.functions) > 0 {
		slices.Sort(r.functions)
		for _, name := range r.functions {
			if s.calls[name] == 0 {
				file.Stmts = append(file.Stmts, command(name))
			}
		}
		if err := s.explore(file); err != nil {
			return nil, err
		}
	}
	return s.documents(), nil
}

func parseScript(text io.Reader) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(text, "")
	if err == nil {
		file.Name = undecided("${0}")
	}
	return file, err
}

// undecided is a text that stands for a value which the script does not decide. Each byte is a character of Unicode's
// private use, which no part of the shell takes for its own; decided turns it back.
func undecided(text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteRune(private + rune(text[i]))
	}
	return b.String()
}

const private = '\ue000'

func isUndecided(text string) bool { return strings.ContainsRune(text, private+'$') }

func decided(text string) string {
	if !isUndecided(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if r >= private && r < private+256 {
			b.WriteByte(byte(r - private))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// shell follows a script, run by run.
type shell struct {
	// exits are where the script ends within a branch, passed those that the first run passes over: a script that lacks its arguments ends.
	exits, passed map[uint]bool
	// seen are the questions that the script leaves open, by where they stand; queue are the runs to come, each by those answered no.
	seen           map[string]bool
	queue          []map[string]bool
	runs           []outcome
	work, expanded int

	// Of the run that is under way:
	outcome
	no     map[string]bool
	ended  bool
	rounds map[string]int
	calls  map[string]int
}

// outcome is what a run leaves.
type outcome struct {
	commands []started
	vars     map[string]expand.Variable
}

type started struct {
	words   []word
	heredoc string
	line    int
}

// explore runs the script with every question answered yes, and once more for each, answered no.
func (s *shell) explore(file *syntax.File) error {
	s.seen, s.passed, s.runs = map[string]bool{}, map[uint]bool{}, nil
	s.queue = []map[string]bool{{}}
	for len(s.queue) > 0 {
		s.no, s.queue = s.queue[0], s.queue[1:]
		s.outcome, s.ended, s.rounds, s.calls = outcome{}, false, map[string]int{}, map[string]int{}
		if err := s.run(file); err != nil {
			return err
		}
		if !s.ended {
			s.runs = append(s.runs, s.outcome)
		}
	}
	return nil
}

// run interprets the script once.
func (s *shell) run(file *syntax.File) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("no script that can be followed: %v", p)
		}
	}()
	refuse := errors.New("files are not opened")
	r, err := interp.New(
		func(r *interp.Runner) error { r.Dir = undecided("${PWD}"); return nil }, // Dir would look whether it is there
		interp.Env(expand.FuncEnviron(func(name string) string {
			if slices.Contains([]string{"HOME", "UID", "EUID", "GID"}, name) { // else the interpreter has this machine's
				return undecided("${" + name + "}")
			}
			return ""
		})),
		interp.Params("-f"), // no pattern looks for files
		interp.StdIO(nil, io.Discard, io.Discard),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(func(context.Context, string, int, fs.FileMode) (io.ReadWriteCloser, error) { return nil, refuse }),
		interp.ReadDirHandler2(func(context.Context, string) ([]fs.DirEntry, error) { return nil, refuse }),
		interp.StatHandler(func(context.Context, string, bool) (fs.FileInfo, error) { return nil, refuse }),
		interp.AccessHandler(func(context.Context, string, interp.AccessMode) error { return refuse }),
	)
	if err != nil {
		return err
	}
	err = r.Run(context.Background(), file)
	s.vars = r.Vars
	if errors.Is(err, errTooLarge) {
		return err
	}
	return nil // a script's own failure is none of the reader
}

// spend bounds what a script costs.
func (s *shell) spend(bytes int) bool {
	s.work++
	s.expanded += bytes
	return s.work <= maxWork && bytes <= maxValue && s.expanded <= maxExpanded
}

// ask answers a question that the script does not decide. One that is new is answered no by a run of its own.
func (s *shell) ask(id string) bool {
	if !s.seen[id] {
		s.seen[id] = true
		other := maps.Clone(s.no)
		other[id] = true
		s.queue = append(s.queue, other)
	}
	return !s.no[id]
}

func answer(yes bool) []string { return []string{strconv.FormatBool(yes)} }

var (
	// ourBuiltins are the shell's commands that the interpreter may run: they touch nothing but the script's own state.
	ourBuiltins = strings.Fields(": true false echo printf test [ return break continue shift unset set eval getopts exit")
	// idle are commands that set nothing and start nothing.
	idle = strings.Fields("cd mkdir rm sleep pkill ulimit pip pip3 git wget curl tee cat kill wait trap source . alias unalias shopt umask jobs bg fg disown dirs pushd popd mapfile readarray times help pwd")
	// asking are programs that only answer.
	asking = strings.Fields("grep which")
	// fileTests are the tests that need a file.
	fileTests = strings.Fields("-e -f -d -c -b -p -S -L -h -k -g -u -G -O -N -r -w -x -s -t -nt -ot -ef")
	// wideFormat is a width of printf that would fill memory.
	wideFormat = regexp.MustCompile(`%[^a-zA-Z%]*(\d{3}|\*)`)
)

// call sees every command before the interpreter does, and puts another in its place where that would reach beyond the script.
func (s *shell) call(ctx context.Context, args []string) ([]string, error) {
	h := interp.HandlerCtx(ctx)
	bytes := 0
	for _, a := range args {
		bytes += len(a)
	}
	if !s.spend(bytes) {
		return nil, errTooLarge
	}
	at := strconv.Itoa(int(h.Pos.Offset()))
	name, rest := args[0], args[1:]
	if strings.HasPrefix(name, own) {
		return s.callOwn(strings.TrimPrefix(name, own), rest)
	}
	switch name {
	case "exit":
		offset := h.Pos.Offset()
		switch {
		case !s.exits[offset]:
		case len(s.no) == 0 || s.passed[offset]:
			s.passed[offset] = true
			return answer(true), nil
		default:
			s.ended = true
		}
	case "[", "test":
		files := slices.ContainsFunc(rest, func(a string) bool { return slices.Contains(fileTests, a) })
		if files || slices.ContainsFunc(rest, isUndecided) {
			return answer(s.ask(at)), nil
		}
	case "set":
		if len(rest) == 0 || rest[0] != "--" {
			return answer(true), nil // its options stop scripts that fail
		}
	case "printf":
		if len(rest) > 0 && wideFormat.MatchString(rest[0]) {
			return answer(true), nil
		}
	case "read": // once: what it would read has an end
		s.rounds[at]++
		return answer(s.rounds[at] == 1 && s.ask(at)), nil
	case "exec", "command", "builtin":
		switch rest = withoutMarks(rest); {
		case len(rest) == 0:
			return answer(true), nil
		case strings.HasPrefix(rest[0], "-"):
			return answer(s.ask(at)), nil
		}
		return s.call(ctx, rest)
	case "type", "hash":
		return answer(s.ask(at)), nil
	case "eval":
		return s.eval(strings.Join(withoutMarks(rest), " "))
	default:
		if plain := withoutMarks(args); strings.HasSuffix(name, "sh") {
			if i := slices.IndexFunc(plain, func(a string) bool { return a == "-c" || a == "-lc" }); i >= 0 && i+1 < len(plain) {
				return s.eval(plain[i+1])
			}
		}
		if s.calls[name]++; slices.Contains(idle, name) || s.calls[name] > maxCalls {
			return answer(true), nil
		}
		return args, nil // a function or a program
	}
	if !slices.Contains(ourBuiltins, name) {
		return answer(true), nil
	}
	return withoutMarks(args), nil
}

// callOwn are the commands that rewriter puts into a script.
func (s *shell) callOwn(name string, args []string) ([]string, error) {
	switch name {
	case "open": // is one of the values undecided?
		return answer(slices.ContainsFunc(args, isUndecided)), nil
	case "ask":
		return answer(s.ask(args[0])), nil
	case "cost": // a bound on what the next statement expands to: how often it reads each value
		size, err := strconv.Atoi(args[0])
		times, failed := strconv.Atoi(args[1])
		for i := 2; i+1 < len(args); i += 2 {
			n, _ := strconv.Atoi(args[i])
			size += n * len(args[i+1])
			if args[1] == "0" { // a replacement: as often as there is something to replace
				times += len(args[i+1])
			}
		}
		if err != nil || failed != nil || size > maxValue || !s.spend(size*max(times, 1)) {
			return nil, errTooLarge
		}
	case "index":
		if i, err := strconv.Atoi(args[0]); err == nil && i > maxIndex {
			return nil, errTooLarge
		}
	case "loop":
		s.rounds[args[0]] = 0
	case "round":
		if s.rounds[args[0]]++; s.rounds[args[0]] > maxLoop {
			return []string{"break"}, nil
		}
	case "pick": // which branch of case, where its subject is undecided
		last, _ := strconv.Atoi(args[1])
		if !isUndecided(args[2]) {
			return []string{"echo", args[2]}, nil
		}
		i := 0
		for i < last && !s.ask(args[0]+"."+strconv.Itoa(i)) {
			i++
		}
		return []string{"echo", branch(args[0], i)}, nil
	case "heredoc":
		line, _ := strconv.Atoi(args[0])
		s.commands = append(s.commands, started{heredoc: decided(args[1]), line: line})
	}
	return answer(true), nil
}

// eval runs a text that the script itself has made.
func (s *shell) eval(text string) ([]string, error) {
	if s.calls["eval"]++; s.calls["eval"] > maxCalls/8 || tooDeep([]byte(text)) {
		return answer(true), nil
	}
	file, err := parseScript(strings.NewReader(text))
	if err != nil {
		return answer(false), nil
	}
	r := rewriter{shell: s, inner: true}
	r.file(file)
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil || b.Len() > maxValue {
		return nil, errTooLarge
	}
	return []string{"eval", b.String()}, nil
}

// exec is given the programs, and starts none.
func (s *shell) exec(ctx context.Context, args []string) error {
	h := interp.HandlerCtx(ctx)
	at := int(h.Pos.Line())
	var words []word
	for _, a := range args {
		if line, ok := strings.CutPrefix(a, lineMark); ok {
			at, _ = strconv.Atoi(line)
			continue
		}
		words = append(words, word{decided(a), at})
	}
	s.commands = append(s.commands, started{words: words, line: int(h.Pos.Line())})
	if (slices.Contains(asking, args[0]) || isUndecided(args[0])) && !s.ask(strconv.Itoa(int(h.Pos.Offset()))) {
		return interp.ExitStatus(1)
	}
	return nil
}

// documents groups the commands of all runs by the program they start.
func (s *shell) documents() (list []Document) {
	at := map[string]int{}
	var readings [][][]Setting
	add := func(name string, line int, settings []Setting) {
		i, known := at[name]
		if !known {
			i = len(list)
			at[name] = i
			list, readings = append(list, Document{Name: name, Line: line}), append(readings, nil)
		}
		readings[i] = append(readings[i], settings)
	}
	for _, run := range s.runs {
		var flags []Setting // lines of flags belong together
		for _, c := range run.commands {
			if c.heredoc != "" {
				inner, err := Parse("heredoc.yaml", []byte(c.heredoc))
				if err == nil && len(inner) == 1 {
					add(fmt.Sprintf("the text at line %d", c.line), c.line, inner[0].Settings)
				}
				continue
			}
			name, rest, ok := program(c.words)
			switch settings := fromWords(rest); {
			case !ok || len(settings) == 0:
			case name == "":
				flags = append(flags, settings...)
			default:
				add(name, c.line, settings)
			}
		}
		if len(flags) > 0 {
			add("", flags[0].Line, flags)
		}
	}
	for i := range list {
		list[i].Settings = variants(readings[i])
	}
	if len(list) == 0 {
		list = s.arrays()
	}
	return list
}

// arrays are the settings of a fragment that fills arrays and starts nothing.
func (s *shell) arrays() []Document {
	by := map[string][][]Setting{}
	for _, run := range s.runs {
		for name, v := range run.vars { // each for itself, in any order
			var words []word
			for _, text := range v.List {
				words = append(words, word{decided(text), 1})
			}
			if settings := fromWords(words); v.Kind == expand.Indexed {
				by[name] = append(by[name], settings)
			}
		}
	}
	var all []Setting
	for _, name := range slices.Sorted(maps.Keys(by)) {
		all = append(all, variants(by[name])...)
	}
	if len(all) == 0 {
		return nil
	}
	return []Document{{Settings: all}}
}
