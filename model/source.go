package model

import _ "embed"

// configSource is the declaration of Config.
//
//go:embed config.go
var configSource string

// ConfigSource is the text of the file that declares Config: the reference of
// recipes takes the meaning of each field from its comments.
func ConfigSource() string { return configSource }
