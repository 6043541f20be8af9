package reader

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"driftlab/precision"
)

// Damage is one thing that is broken in a file.
type Damage struct {
	Line   int    `json:"line"`
	Byte   int64  `json:"byte"`
	Reason string `json:"reason"`
}

const (
	// keptDamage is how many faults of a file are named; the others are counted.
	keptDamage = 100
	// longestReason and longestEnv are the most bytes of what is quoted from a file: a fault, and an environment's name.
	longestReason = 1 << 10
	longestEnv    = 1 << 8
)

// File is what there is to say of a file that was read.
type File struct {
	Name   string
	Format string
	// Step is the rows' training step, Unknown where they disagree or none has one.
	Step int
	// Rows were complete, Used of them have a trained token that counts, with Tokens of these.
	Rows, Used, Tokens int
	// Damage names the first faults, Damaged counts all.
	Damage  []Damage
	Damaged int
	// Missing are the columns that the file does not have.
	Missing []string
	// Notes say what a reader of the figures must know of this format.
	Notes []string

	notRead []string // keys that are recorded and not read
	rowStep *int     // of the first row
	mixed   bool     // other rows have other steps
	has     [len(columns)]bool
}

// columns are what a row may have, under the names of the neutral format.
var columns = [...]struct {
	name string
	in   func(*Row) bool
}{
	{"token_ids", func(r *Row) bool { return r.Token != nil }},
	{"logp_rollout", func(r *Row) bool { return r.Roll != nil }},
	{"logp_old", func(r *Row) bool { return r.Old != nil }},
	{"logp_new", func(r *Row) bool { return r.New != nil }},
	{"advantage", func(r *Row) bool { return r.Advantage != nil }},
	{"reward", func(r *Row) bool { return !math.IsNaN(r.Reward) }},
	{"group", func(r *Row) bool { return r.Group != Unknown }},
	{"version", func(r *Row) bool { return r.Version != nil || r.Tail != Unknown }},
	{"temperature", func(r *Row) bool { return !math.IsNaN(r.Temperature) }},
	{"top_p", func(r *Row) bool { return !math.IsNaN(r.TopP) }},
	{"kept_mass", func(r *Row) bool { return r.KeptMass != nil }},
	{"routes", func(r *Row) bool { return r.Flips != nil }},
}

func (f *File) send(row *Row, visit func(*Row) error) error {
	f.Rows++
	if len(row.Env) > longestEnv {
		row.Env = strings.Clone(row.Env[:longestEnv])
	}
	if n := row.Trained(); n > 0 {
		f.Used++
		f.Tokens += n
	}
	for i, c := range columns {
		f.has[i] = f.has[i] || c.in(row)
	}
	if row.odd != "" {
		f.damage(row.Line, row.Byte, row.odd)
	}
	if row.note != "" {
		f.note(row.note)
	}
	if f.rowStep == nil {
		f.rowStep = new(row.Step)
	}
	f.mixed = f.mixed || row.Step != *f.rowStep
	return visit(row)
}

// close says what the file as a whole is like.
func (f *File) close() {
	for i, c := range columns {
		if !f.has[i] && f.Rows > 0 {
			f.Missing = append(f.Missing, c.name)
		}
	}
	f.Step = StepNamed(f.Name)
	if f.rowStep != nil && !f.mixed && *f.rowStep != Unknown {
		f.Step = *f.rowStep
	}
}

func (f *File) note(text string) {
	if !slices.Contains(f.Notes, text) {
		f.Notes = append(slices.Clone(f.Notes), text)
	}
}

func (f *File) damage(line int, byte int64, reason string) {
	f.Damaged++
	if len(reason) > longestReason {
		reason = reason[:longestReason] + " …"
	}
	if len(f.Damage) < keptDamage {
		f.Damage = append(f.Damage, Damage{line, byte, reason})
	}
}

// Refused is a file that is not read at all.
type Refused struct{ Name, Problem, Fix string }

// Error names file, problem and fix.
func (r *Refused) Error() string { return r.Name + ": " + r.Problem + ": " + r.Fix }

const (
	// mostUnread is how many keys of a file that are not read are named, unreadBytes the most of one that is quoted.
	mostUnread, unreadBytes = 20, 64
	// nearName is the share of letters up to which another name is proposed.
	nearName = 0.5
)

// unread notes a key that is recorded and not read.
func (f *File) unread(key string) {
	if len(key) > unreadBytes {
		key = key[:unreadBytes] + "…"
	}
	if len(f.notRead) > mostUnread || slices.Contains(f.notRead, key) || slices.Contains(shipped.unused, key) {
		return
	}
	f.notRead = append(f.notRead, strings.Clone(key))
}

// noteUnread puts the keys that are not read into the notes, each with the nearest of those that are.
func (f *File) noteUnread(known []string) {
	if len(f.notRead) == 0 {
		return
	}
	var list []string
	for _, key := range f.notRead[:min(len(f.notRead), mostUnread)] {
		if near := precision.NearestNames(key, known); len(near) > 0 && precision.NameDistance(key, near[0]) <= nearName {
			key += fmt.Sprintf(" (nearest: %s)", near[0])
		}
		list = append(list, key)
	}
	more := ""
	if len(f.notRead) > mostUnread {
		more = " and others"
	}
	f.note("not read: " + strings.Join(list, ", ") + more)
}

// names are all that files have for what the format reads.
func (f *Format) names() (list []string) {
	for _, k := range f.keys {
		list = append(list, k.names...)
	}
	return list
}

// unreadOf notes the keys of a dictionary that the format does not read.
func (f *File) unreadOf(d *dictionary, format *Format) {
	for _, k := range d.keys {
		if key, ok := k.(string); ok {
			if _, known := format.index[key]; !known {
				f.unread(key)
			}
		}
		if len(f.notRead) > mostUnread {
			return
		}
	}
}
