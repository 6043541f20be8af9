// Package panel is what the lab's page can draw: a picture worked out to the last
// figure, so that the page only paints it. Recordings and live runs are the same panels.
//
// What it is not: it measures nothing and knows no engine. Who has figures fills a Panel.
package panel

import "driftlab/results/record"

// Panel is one picture, or one table, of a lesson. Of the fields below its kind only
// those of that kind are set.
type Panel struct {
	// When are the controls' values with which the panel is shown; none: always.
	When map[string]string `json:"when,omitempty"`
	// Kind is one of the constants.
	Kind Kind `json:"kind"`
	// Name says what is drawn: a live panel's lines are added to the recording of the same name.
	Name string `json:"name,omitempty"`
	// Title stands above; Said is a sentence from the data for those who do not see it.
	Title string `json:"title"`
	Said  string `json:"said,omitempty"`
	// Guess is the key of the guess that is drawn in, empty for none.
	Guess string `json:"guess,omitempty"`

	// Drag is a control that is also set by dragging along an axis of the plot.
	Drag *Drag `json:"drag,omitempty"`

	// X and Y are the axes of lines, dots, bars (y) and histograms (x).
	X *Axis `json:"x,omitempty"`
	Y *Axis `json:"y,omitempty"`
	// Series are the lines of a plot, or the heights of bars.
	Series []Series `json:"series,omitempty"`
	// Marks are lines across a plot.
	Marks []Mark `json:"marks,omitempty"`
	// Edges are those of a histogram, one more than it has bars.
	Edges []float64 `json:"edges,omitempty"`
	// Labels name groups of bars.
	Labels []string `json:"labels,omitempty"`
	// Lines are those of a strip of tokens; Scale says what its shades mean.
	Lines []Line `json:"lines,omitempty"`
	Scale string `json:"scale,omitempty"`
	// Columns and Rows are a table, or the rows of a grid with its Tokens.
	Columns []Column   `json:"columns,omitempty"`
	Rows    [][]string `json:"rows,omitempty"`
	// Formulas are lines of arithmetic with their figures set in.
	Formulas []Formula `json:"formulas,omitempty"`
}

// Kind is how a panel is drawn.
type Kind string

// Kinds.
const (
	Lines     Kind = "lines"
	Dots      Kind = "dots"
	Histogram Kind = "histogram"
	Bars      Kind = "bars"
	Strip     Kind = "strip" // a grid is a strip with a line for each layer
	Table     Kind = "table"
	Working   Kind = "formula"
)

// Axis is one axis; Low and High, where they are equal, are left to the data.
type Axis struct {
	Label string `json:"label"`
	Log   bool   `json:"log,omitempty"`
	// Percent shows shares, from 0 to 1, as percentages.
	Percent bool `json:"percent,omitempty"`
	// Count shows whole numbers without decimals.
	Count bool    `json:"count,omitempty"`
	Low   float64 `json:"low,omitempty"`
	High  float64 `json:"high,omitempty"`
}

// Series is a line, a cloud of dots, or one bar of each group.
type Series struct {
	Name string `json:"name"`
	// Method chooses colour and dash: see Method.
	Method Method `json:"method,omitempty"`
	// Faint is one of several recorded runs; the others are drawn thick.
	Faint bool `json:"faint,omitempty"`
	// X is empty for bars.
	X record.Floats `json:"x,omitempty"`
	Y record.Floats `json:"y"`
}

// Method is a place in the palette, with a dash of its own.
type Method string

// Methods.
const (
	Equal       Method = "equal"
	Own         Method = "own" // the reader's run
	Uncorrected Method = "none"
	TokenTIS    Method = "token_tis"
	R3          Method = "r3"
	OPSM        Method = "opsm"
	IcePop      Method = "icepop"
	Clip        Method = "clip"
)

// Mark is a line across a plot.
type Mark struct {
	Axis string  `json:"axis"` // x or y
	At   float64 `json:"at"`
	Name string  `json:"name"`
}

// Drag binds a control to an axis: the option chosen is drawn as a line across the plot,
// and another one below zero.
type Drag struct {
	Control string `json:"control"`
	Axis    string `json:"axis"` // x or y
	// At are the places of the control's options, in their order.
	At []float64 `json:"at"`
	// Names are written at the two lines.
	Names [2]string `json:"names"`
}

// Line is a response, or a layer, token by token.
type Line struct {
	Title  string  `json:"title,omitempty"`
	Tokens []Token `json:"tokens"`
}

// Token is one box of a strip.
type Token struct {
	Text string `json:"text"`
	// Level is the shade, 0 to 4.
	Level int `json:"level,omitempty"`
	// Cross marks the token by more than its shade.
	Cross bool   `json:"cross,omitempty"`
	Note  string `json:"note,omitempty"`
}

// Column is one column of a table.
type Column struct {
	Name string `json:"name"`
	// Num: it holds numbers, set to the right.
	Num bool `json:"num,omitempty"`
}

// Formula is one line of arithmetic.
type Formula struct {
	// Name is what comes out; Text how, with the figures.
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}
