// Package reader reads the per-token dumps that RL frameworks write, and hands
// them on as rows of one kind.
//
//	about, err := reader.Read(reader.Input{Name: "dump.jsonl.gz", At: f, Size: size}, "", func(r *reader.Row) error {
//		...                        // one response; the row is reused
//		return nil
//	})
//	about.Format, about.Damage     // its format, and what of it is broken
//
// The first bytes of a file and the keys of its first complete row tell its format, never its name. formats.yaml has the table of
// formats: their keys, what tells them, and how their columns are laid out. A response of any format is filled by one mechanism, fill
// in formats.go, from columns under the names of the neutral format.
//
// A file is read once, row by row, plain, gzip or zstd: no more than a row of it
// is held. What is broken is counted and named by line and byte, and complete
// rows count nevertheless. A column that is not recorded is nil and never zeros;
// NaN, infinities and null are values.
//
// Pickles are read by an interpreter that only builds lists, dictionaries and
// tensors. It executes nothing, knows the few globals that these formats have,
// and refuses all others by name.
//
// What it is not: it judges nothing, and opens no file.
package reader
