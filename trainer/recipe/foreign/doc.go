// Package foreign reads the configuration of other trainers as parts of a recipe,
// and writes a recipe's correction in their syntax.
//
//	c, err := foreign.Read("verl.yaml", text)     // a block of it, or a whole file
//	c.Framework                                   // verl
//	c.Assignments()                               // correction={...}, as --set takes them
//	c.Off, c.Notes                                // why it would do nothing; what a recipe cannot say
//	text, notes := foreign.Write("trl", r)        // GRPOConfig(...), and what TRL cannot say
//
// Texts come as YAML or JSON, as the flags or overrides of a command, as TOML and as
// a Python call: all become settings, a path and a value. Whose they are, the keys
// decide. What stands in a section that belongs to the correction must be known, and
// so must a key that looks like one of its own wherever it stands; the rest of a
// whole file is other people's business and is passed over.
//
// One framework is one file: its keys, their defaults, and what they mean here. They
// were read in the frameworks' source, of 2026.
package foreign
