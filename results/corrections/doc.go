// Package corrections is the page "Which correction?": the effect of every setting
// by problem, with the lines to copy and the explanation of each.
//
// What it is not: it measures and looks up nothing; whoever has the figures fills a Page.
package corrections
