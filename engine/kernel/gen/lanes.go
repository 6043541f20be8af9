package main

import "fmt"

// overGroups is overLanes of a body that takes several vectors at once, as long as there are
// so many, and one after that.
func (v *vec) overGroups(several int, pointers []string, body func(vectors int)) {
	if several > 1 {
		elements := fmt.Sprintf("$%d", several*v.v.lanes())
		v.op("SUBQ", elements, "CX")
		v.op("JLT", "fewer")
		v.label("several")
		body(several)
		for _, p := range pointers {
			v.op("ADDQ", fmt.Sprintf("$%d", several*v.v.bytes), p)
		}
		v.op("SUBQ", elements, "CX")
		v.op("JGE", "several")
		v.label("fewer")
		v.op("ADDQ", elements, "CX")
	}
	v.overLanes("", pointers, func() { body(1) })
}

// overLanes writes the body once for whole vectors, in a loop over the CX
// elements that moves the pointers along, and once for the rest.
func (v *vec) overLanes(name string, pointers []string, body func()) {
	whole, rest, done := name+"whole", name+"rest", name+"done"
	lanes := fmt.Sprintf("$%d", v.v.lanes())
	advance := func(bytes int) {
		for _, p := range pointers {
			v.op("ADDQ", fmt.Sprintf("$%d", bytes), p)
		}
	}
	v.op("SUBQ", lanes, "CX")
	v.op("JLT", rest)
	v.label(whole)
	body()
	advance(v.v.bytes)
	v.op("SUBQ", lanes, "CX")
	v.op("JGE", whole)
	v.label(rest)
	v.op("ADDQ", lanes, "CX")
	v.op("TESTQ", "CX", "CX")
	v.op("JEQ", done)
	v.masked = true
	if v.v == neon {
		v.label(name + "one")
		body()
		advance(4)
		v.op("DECQ", "CX")
		v.op("JNZ", name+"one")
	} else {
		v.tailMask()
		body()
	}
	v.masked = false
	v.label(done)
}
