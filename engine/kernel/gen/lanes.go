package main

import "fmt"

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
