package main

import (
	"fmt"
	"strings"
)

// vectorFile is the assembly of all elementwise routines for one instruction set.
func vectorFile(v isa) string {
	t := newText(v)
	consts := map[string]uint32{}
	for _, r := range routines() {
		r.assemble(t, v, consts)
	}
	if v != neon {
		sumExps(t, v, consts)
	}
	constSection(t, v, consts)
	return t.String()
}

// vectorStubs declares the elementwise routines.
func vectorStubs(sets ...isa) string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	for _, r := range routines() {
		for _, v := range sets {
			fmt.Fprintf(&t, "\n//go:noescape\nfunc %s\n", r.signature(v))
		}
	}
	for _, v := range sets {
		if v != neon {
			fmt.Fprintf(&t, "\n//go:noescape\nfunc %s\n", sumExpsSignature(v))
		}
	}
	return t.String()
}

// vectorChoosers choose among them by path.
func vectorChoosers(sets ...isa) string {
	var t text
	t.WriteString(generated + "\npackage kernel\n")
	for _, r := range routines() {
		r.chooser(&t, sets)
	}
	return t.String()
}

// noVectorStubs is vectorStubs where there is no assembly.
func noVectorStubs() string {
	var t text
	t.WriteString(generatedPlain + "\npackage kernel\n\n// Without assembly every routine declines.\n\n")
	for _, r := range routines() {
		head, decline := r.chooserHead()
		fmt.Fprintf(&t, "%s { return %s }\n", head, decline)
	}
	return t.String()
}

// chooserHead is the function through which the package calls a routine, as far as
// its body, and what it returns to decline: its last result reports whether there was
// a routine to call.
func (r routine) chooserHead() (head, decline string) {
	params, result, decline := strings.Join(r.slices, ", ")+" []float32", "bool", "false"
	for _, s := range r.numbers {
		name, goType := splitNumber(s)
		params += ", " + name + " " + goType
	}
	if r.result != "" {
		result, decline = "(float32, bool)", "0, false"
	}
	return fmt.Sprintf("func %sVector(%s) %s", r.name, params, result), decline
}

// chooser writes the function with its body.
func (r routine) chooser(t *text, sets []isa) {
	args := ""
	for _, s := range r.slices {
		args += "&" + s + "[0], "
	}
	args += "n"
	for _, s := range r.numbers {
		name, _ := splitNumber(s)
		args += ", " + name
	}
	head, decline := r.chooserHead()
	fmt.Fprintf(t, "\n// %sVector runs %s on all of %s, if the path has it.\n%s {\n", r.name, r.name, r.slices[0], head)
	fmt.Fprintf(t, "\tn, path := len(%s), CurrentPath()\n\tif path == PathGo || n == 0 {\n\t\treturn %s\n\t}\n", r.slices[0], decline)
	var ends []string
	for _, s := range r.slices[1:] {
		ends = append(ends, s+"[n-1]")
	}
	if len(ends) > 0 {
		fmt.Fprintf(t, "\t%s = %s\n", strings.Repeat(", _", len(ends))[2:], strings.Join(ends, ", "))
	}
	call := func(v isa) string {
		if r.result != "" {
			return fmt.Sprintf("return %s%s(%s), true", r.name, v.name, args)
		}
		return fmt.Sprintf("%s%s(%s)", r.name, v.name, args)
	}
	last := sets[len(sets)-1]
	switch {
	case len(sets) == 1 || r.result != "":
		for _, v := range sets[:len(sets)-1] {
			fmt.Fprintf(t, "\tif path == %s {\n\t\t%s\n\t}\n", v.path, call(v))
		}
		fmt.Fprintf(t, "\t%s\n", call(last))
	default:
		fmt.Fprintf(t, "\tif path == %s {\n\t\t%s\n\t} else {\n\t\t%s\n\t}\n", sets[0].path, call(sets[0]), call(last))
	}
	if r.result == "" {
		t.WriteString("\treturn true\n")
	}
	t.WriteString("}\n")
}
