package source

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// word is one argument of a command.
type word struct {
	text string
	line int
}

// program is what a command starts: its name, and the words that are its own settings.
// It has none where the words are settings by themselves.
func program(words []word) (name string, rest []word, ok bool) {
	if len(words) == 0 {
		return "", nil, false
	}
	if i := slices.IndexFunc(words, func(w word) bool { return w.text == "--" }); i > 0 { // a launcher, and what it launches
		inner := words[i+1:]
		for j, w := range inner {
			if w.text == "&&" || w.text == ";" {
				inner = words[i+2+j:]
			}
		}
		if len(inner) > 1 && starts(inner[0].text) {
			return program(inner)
		}
	}
	for i, w := range words {
		before := ""
		if i > 0 {
			before = words[i-1].text
		}
		if strings.HasPrefix(w.text, "-") || strings.Contains(w.text, "=") || strings.HasPrefix(before, "--") && before != "--" && before != "--module" && !starts(words[0].text) {
			continue // the value of an option
		}
		if before == "-m" || before == "--module" || strings.HasSuffix(w.text, ".py") || strings.HasSuffix(w.text, ".sh") {
			return w.text, words[i+1:], true
		}
	}
	first := words[0].text
	if strings.HasPrefix(first, "-") || isAssignment(first) || strings.HasSuffix(first, ":") {
		return "", words, true
	}
	if len(words) > 1 {
		switch second := words[1].text; {
		case strings.HasPrefix(second, "-"):
			return first, words[1:], true
		case first == "uv" || first == "accelerate" || first == "deepspeed" || first == "torchrun":
			return program(words[1:])
		case len(words) > 2:
			return first + " " + second, words[2:], true
		}
	}
	return first, words[1:], true
}

// starts reports whether a command starts a script that stands among its words, after options of its own.
func starts(command string) bool {
	name := command[strings.LastIndexByte(command, '/')+1:]
	launchers := []string{"python", "pypy", "torchrun", "accelerate", "deepspeed", "uv", "ray", "srun", "mpirun", "bash", "sh", "nohup", "env", "numactl", "docker", "singularity", "apptainer", "conda", "poetry"}
	return slices.ContainsFunc(launchers, func(launcher string) bool { return strings.HasPrefix(name, launcher) })
}

// isAssignment reports whether a word is key=value, as Hydra and chz have it.
func isAssignment(text string) bool {
	key, _, found := strings.Cut(text, "=")
	key = strings.TrimLeft(key, "+~")
	if !found || key == "" || key[0] != '_' && !unicode.IsLetter(rune(key[0])) {
		return false
	}
	return !strings.ContainsFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_.-/@", r)
	})
}

// fromWords reads the flags and overrides of a command.
func fromWords(words []word) (list []Setting) {
	flag, given := "", []string(nil)
	line := 0
	end := func() {
		switch {
		case flag == "":
		case len(given) == 1:
			list = append(list, valued(Setting{Path: flag, Line: line}, given[0])...)
		case len(given) == 0:
			list = append(list, Setting{Path: flag, Line: line, Bare: true})
		default:
			for i, text := range given {
				list = append(list, valued(Setting{Path: join(flag, strconv.Itoa(i)), Line: line}, text)...)
			}
		}
		flag, given = "", nil
	}
	for i, w := range words {
		switch name, isFlag := strings.CutPrefix(w.text, "--"); {
		case isFlag && name != "" && name[0] != '-':
			end()
			name, value, has := strings.Cut(name, "=")
			flag, line = strings.ReplaceAll(name, "-", "_"), w.line
			if has {
				given = []string{value}
				end()
			}
		case isAssignment(w.text):
			end()
			key, value, _ := strings.Cut(w.text, "=")
			if strings.HasPrefix(key, "~") {
				continue // Hydra's deletion
			}
			key = strings.TrimLeft(key, "+")
			list = append(list, valued(Setting{Path: key, Line: w.line}, strings.Trim(value, `"'`))...)
		case strings.HasSuffix(w.text, ":") && i == 0 && len(words) > 1: // a line of YAML among flags
			flag, line = strings.TrimSuffix(w.text, ":"), w.line
		case flag != "":
			given = append(given, w.text)
		}
	}
	end()
	return list
}

// variants merges readings of one program: by branches of a script, or by its calls. What
// they do not agree on is undecided and names each value.
func variants(readings [][]Setting) []Setting {
	if len(readings) == 1 {
		return lastWins(readings[0])
	}
	type seen struct {
		Setting
		values []string
		n      int
	}
	var order []string
	all := map[string]*seen{}
	for _, reading := range readings {
		for _, s := range lastWins(reading) {
			x := all[s.Path]
			if x == nil {
				x = &seen{Setting: s}
				all[s.Path] = x
				order = append(order, s.Path)
			}
			x.n++
			if text := s.Shown(); len(x.values) < 8 && !slices.Contains(x.values, text) {
				x.values = append(x.values, text)
			}
		}
	}
	list := make([]Setting, 0, len(order))
	for _, path := range order {
		x := all[path]
		switch {
		case len(x.values) > 1:
			x.Why = "the script gives " + strings.Join(x.values, " or ") + ", by a condition or a loop"
		case x.n < len(readings):
			x.Why = "the script gives " + x.values[0] + " or nothing, by a condition or a loop"
		}
		list = append(list, x.Setting)
	}
	return list
}

// lastWins keeps the last of several settings of one path, as every framework here does.
func lastWins(list []Setting) []Setting {
	at := map[string]int{}
	var kept []Setting
	for _, s := range list {
		if i, twice := at[s.Path]; twice {
			kept[i] = s
			continue
		}
		at[s.Path] = len(kept)
		kept = append(kept, s)
	}
	return kept
}
