// Package lab is the data of the lab: six lessons, each a question, a guess, a
// picture and what it shows.
//
// The words stand in lessons/, one file a lesson; every figure in them is read from
// results/published, by source and field, when go generate makes lab.json of both. That
// file is committed and is what the page and the command line show, so neither
// needs the published folder; the program that makes it is TestDocument, which also compares.
//
// What it is not: it trains and measures nothing. What runs live is in cmd/simulate.
package lab
