// Package foreign reads the configuration of other trainers as parts of a recipe,
// and writes a recipe's correction in their syntax.
//
//	c, err := foreign.ReadAs("", "verl.yaml", text)     // a block of it, or a whole file
//	c.Framework                                   // verl
//	c.Assignments()                               // correction={...} rollout.group=8 ..., as --set takes them
//	c.Table()                                     // what became of every setting of the text
//	c.Off, c.Notes                                // why it would do nothing; what a recipe cannot say
//	text, notes := foreign.Write("trl", r)        // GRPOConfig(...), and what TRL cannot say
//
// Package source parses the text: YAML or JSON, TOML, a Python call, a script. What the settings mean is a table per
// framework, in the folder tables: its keys, the fields of a recipe that they set or why they set none, its defaults, what was removed,
// and rows of what several keys say together (see group). The same rows are the reader, the writer and the page of a framework; what they
// cannot say is code (see hooks). Whose they are, the keys decide; where two frameworks fit alike, both are named, and ReadAs takes the
// right name. Every setting of the text is in Config.Settings: taken over, not taken over and why, or without effect here. A key that
// is a letter or two from one of the correction is a fault.
//
// The tables were read in the frameworks' source, of 2026, whose files they name.
package foreign
