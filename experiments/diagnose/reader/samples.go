package reader

import (
	"errors"
	"fmt"
	"strconv"
)

// readTorch reads slime's and miles' files. Their train_data hold both engines'
// log-probs of the response only: slime's as samples, miles' as columns of a rank;
// rollout_data has those of the rollout engine and the versions; miles'
// policy_loss_debug has old and new, and no tokens.
//
// Source: slime 624b824a8, slime/observability/train_data_utils.py and slime/ray/rollout.py; miles 31f1ca961,
// miles/utils/train_dump_utils.py and miles/backends/training_utils/debug_dump.py.
func (f *File) readTorch(in Input, visit func(*Row) error) error {
	a, err := openArchive(in.At, in.Size, in.most().pickled)
	if err != nil {
		return refuse(in.Name, err)
	}
	root, ok := a.root.(*dictionary)
	samples, listed := root.lookup("samples").(*list)
	columns, columned := root.lookup("rollout_data").(*dictionary)
	format, count, at := formatOf("slime"), samples.len(), func(i int) any { return samples.at(i) }
	switch {
	case ok && !listed && columned:
		format = formatOf("miles")
		if n := whole(root.get("cp_size")); n > 1 {
			return &Refused{in.Name, fmt.Sprintf("the columns of one of %d ranks of context parallelism, each of which has a part of the tokens", n), "--dump-details without context parallelism writes whole responses"}
		}
		lengths, _ := columns.get("response_lengths").(*list)
		f.unreadOf(columns, format)
		count, at = lengths.len(), func(i int) any { return columns.entry(i, lengths.len()) }
	case !ok || !listed:
		return &Refused{in.Name, "a torch file without samples", "slime's and miles' train_data and rollout_data and miles' policy_loss_debug can be read"}
	case root.get("call") != nil:
		format = formatOf("miles")
	}
	f.Format = format.Name
	var generated map[int]*rolled
	if f.Format == "slime" {
		generated = f.rollout(in, whole(root.get("rollout_id")))
	}
	rewards, _ := root.get("raw_reward").(*list)
	defer func() { f.noteUnread(format.names()) }()
	var last *dictionary
	for i := range count {
		var row Row
		row.reset()
		row.Line, row.Step = i+1, whole(root.get("rollout_id"))
		sample, ok := at(i).(*dictionary)
		if !ok {
			f.damage(i+1, 0, "no sample")
			continue
		}
		if err := row.sample(a, sample, format); err != nil {
			f.damage(i+1, 0, err.Error())
			continue
		}
		if sample != last { // references to one sample cost nothing
			f.unreadOf(sample, format)
			last = sample
		}
		generated[row.Index].join(&row)
		if at := whole(sample.get("rollout_position")); rewards != nil && at >= 0 && at < rewards.len() {
			row.Reward, _ = number(rewards.at(at))
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

func (d *dictionary) entry(i, n int) *dictionary {
	sample := &dictionary{}
	for _, k := range formatOf("slime").keys {
		for _, name := range k.names {
			if l, ok := d.get(name).(*list); ok && l.len() == n {
				sample.keys, sample.values = append(sample.keys, name), append(sample.values, l.at(i))
			}
		}
	}
	return sample
}

// rolled is what only slime's rollout_data has of a sample.
type rolled struct {
	head, tail int
	roll       []float64
}

// rollout reads the rollout_data that belongs to a train_data, nil if there is none.
func (f *File) rollout(in Input, id int) map[int]*rolled {
	if in.Open == nil || id == Unknown {
		return nil
	}
	at, size, err := in.Open(fmt.Sprintf("../rollout_data/%d.pt", id))
	if err != nil {
		return nil
	}
	defer at.Close()
	found, left := map[int]*rolled{}, in.most().joined
	err = new(File).read(Input{Name: "rollout_data", At: at, Size: size, MaxMemory: in.MaxMemory}, "", func(r *Row) error {
		if left -= 8 + len(r.Roll); left < 0 {
			return errStopped
		}
		if r.Index != Unknown {
			found[r.Index] = &rolled{r.Head, r.Tail, r.Roll}
		}
		return nil
	})
	if err != nil || len(found) == 0 {
		f.Notes = append(f.Notes, "rollout_data of this step could not be read: versions are unknown")
		return nil
	}
	f.Notes = append(f.Notes, fmt.Sprintf("versions of %d samples are from rollout_data/%d.pt", len(found), id))
	return found
}

// join fills what the row itself does not have.
func (g *rolled) join(row *Row) {
	if g == nil {
		return
	}
	if row.Tail == Unknown {
		row.Head, row.Tail = g.head, g.tail
	}
	if row.Roll == nil && len(g.roll) == len(row.Mask) {
		row.Roll = g.roll
	}
}

// refuse says why a pickle is not read.
func refuse(name string, err error) error {
	fix := "write it again, or convert it into the neutral format"
	if g := (*unknownGlobal)(nil); errors.As(err, &g) {
		fix = "it may do harm when it is loaded: convert it where you trust it"
	}
	return &Refused{name, err.Error(), fix}
}

// lookup is get, of no dictionary too.
func (d *dictionary) lookup(key string) any {
	if d == nil {
		return nil
	}
	return d.get(key)
}

// of is the entry of a key of a format, under whichever name the dictionary has it.
func (f *Format) of(d *dictionary, key string) (name string, value any) {
	names := f.keys[f.place[key]].names
	for _, name := range names {
		if v := d.get(name); v != nil {
			return name, v
		}
	}
	return names[0], nil
}

// sample fills the row of a sample of train_data, rollout_data or policy_loss_debug, whose columns are of the response alone.
func (r *Row) sample(a *archive, d *dictionary, f *Format) error {
	value := func(key string) any { _, v := f.of(d, key); return v }
	called := func(key string) string { name, _ := f.of(d, key); return name }
	c := named{}
	for _, key := range []string{"token_ids", "mask", "logp_rollout", "logp_old", "logp_new", "logp_ref", "entropy", "advantage"} {
		x, err := a.column(value(key))
		if err != nil {
			return fmt.Errorf("%s: %w", called(key), err)
		}
		c[key] = x
	}
	n := whole(value("length"))
	switch {
	case c["token_ids"] == nil && c["mask"] != nil:
		n = len(c["mask"])
	case n == Unknown:
		return errors.New("a sample with no response length")
	case n < 0 || n > len(c["token_ids"]):
		return fmt.Errorf("a response of %d among %d tokens", n, len(c["token_ids"]))
	}
	r.Index, r.Group = whole(value("index")), whole(value("group"))
	r.Reward, _ = number(value("reward"))
	reason, _ := value("finish_reason").(string)
	truncated, known := number(value("truncated"))
	if !known {
		truncated = nan
	}
	r.Finish = finish(reason, truncated)
	if versions, ok := value("version").(*list); ok {
		if a.left -= len(versions.items); a.left < 0 {
			return fmt.Errorf("its samples have more entries than the file has bytes")
		}
		for _, v := range versions.items {
			text, _ := v.(string)
			if version, err := strconv.Atoi(text); err == nil {
				if r.Head == Unknown {
					r.Head, r.Tail = version, version
				}
				r.Head, r.Tail = min(r.Head, version), max(r.Tail, version)
			}
		}
	}
	return r.fill(sequence{n: n, to: n, column: c.column, called: called})
}
