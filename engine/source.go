package engine

import _ "embed"

// numericsSource is the declaration of Numerics.
//
//go:embed numerics.go
var numericsSource string

// NumericsSource is the text of the file that declares Numerics: the reference of
// recipes takes the meaning of each field from its comments.
func NumericsSource() string { return numericsSource }
