// Package limits ends a process that may open too few files or has too small an address space
// with one line, in its initialisation: packages that the program imports open files in
// theirs, and the Go runtime then ends with a trace. Packages without imports of their own are
// initialised in the order of their paths, so this one comes before them.
//
// What it is not: a bound on what the program takes. Systems other than Linux are not asked.
package limits
