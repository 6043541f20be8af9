package reader

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// readTorch reads slime's and miles' files. Their train_data hold both engines'
// log-probs of the response only: slime's as samples, miles' as columns of a rank;
// rollout_data has those of the rollout engine and the versions; miles'
// policy_loss_debug has old and new, and no tokens.
//
// Source: slime 624b824a8, slime/observability/train_data_utils.py and slime/ray/rollout.py; miles 31f1ca961,
// miles/utils/train_dump_utils.py and miles/backends/training_utils/debug_dump.py.
func (f *File) readTorch(in file, visit func(*Row) error) error {
	a, err := openArchive(in.at, in.size, in.most.pickled)
	if err != nil {
		return refuse(in.name, err)
	}
	root, ok := a.root.(*dictionary)
	samples, listed := root.lookup("samples").(*list)
	columns, columned := root.lookup("rollout_data").(*dictionary)
	f.Format = "slime"
	read, count, at := slimeSample, samples.len(), func(i int) any { return samples.at(i) }
	switch {
	case ok && !listed && columned:
		f.Format = "miles"
		if n := whole(root.get("cp_size")); n > 1 {
			return &Refused{in.name, fmt.Sprintf("the columns of one of %d ranks of context parallelism, each of which has a part of the tokens", n), "--dump-details without context parallelism writes whole responses"}
		}
		lengths, _ := columns.get("response_lengths").(*list)
		f.unreadOf(columns, sampleKeys)
		count, at = lengths.len(), func(i int) any { return columns.entry(i, lengths.len()) }
	case !ok || !listed:
		return &Refused{in.name, "a torch file without samples", "slime's and miles' train_data and rollout_data and miles' policy_loss_debug can be read"}
	case root.get("call") != nil:
		f.Format, read = "miles", milesSample
	}
	var generated map[int]*rolled
	if f.Format == "slime" {
		generated = f.rollout(in, whole(root.get("rollout_id")))
	}
	rewards, _ := root.get("raw_reward").(*list)
	defer func() { f.noteUnread(sampleKeys) }()
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
		if err := read(a, sample, &row); err != nil {
			f.damage(i+1, 0, err.Error())
			continue
		}
		if sample != last { // references to one sample cost nothing
			f.unreadOf(sample, sampleKeys)
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

// rankColumns are the columns of miles' train_data that a sample has an entry of, by the name that the sample has it under.
var rankColumns = [...]struct{ column, name string }{
	{"tokens", "tokens"}, {"response_lengths", "response_lengths"}, {"loss_masks", "loss_masks"}, {"rollout_log_probs", "rollout_log_probs"},
	{"log_probs", "log_probs"}, {"ref_log_probs", "ref_log_probs"}, {"entropy", "entropy"}, {"advantages", "advantages"}, {"sample_indices", "sample_index"}, {"weight_versions", "weight_versions"},
}

// entry is a sample of columns of n entries.
func (d *dictionary) entry(i, n int) *dictionary {
	sample := &dictionary{}
	for _, c := range rankColumns {
		if l, ok := d.get(c.column).(*list); ok && l.len() == n {
			sample.keys, sample.values = append(sample.keys, c.name), append(sample.values, l.at(i))
		}
	}
	return sample
}

// sampleKeys are those of samples that are read.
var sampleKeys = strings.Fields(`tokens response_lengths response_length loss_masks loss_mask local_loss_mask rollout_log_probs log_probs old_log_probs train_log_probs
	ref_log_probs entropy advantages sample_index sample_indices index group_index reward rewards status truncated weight_versions`)

// rolled is what only slime's rollout_data has of a sample.
type rolled struct {
	head, tail int
	roll       []float64
}

// rollout reads the rollout_data that belongs to a train_data, nil if there is none.
func (f *File) rollout(in file, id int) map[int]*rolled {
	if in.open == nil || id == Unknown {
		return nil
	}
	at, size, err := in.open(fmt.Sprintf("../rollout_data/%d.pt", id))
	if err != nil {
		return nil
	}
	defer at.Close()
	found, left := map[int]*rolled{}, in.most.joined
	err = new(File).read(Input{Name: "rollout_data", At: at, Size: size, MaxMemory: in.memory}, "", func(r *Row) error {
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

// first is the first of these keys that there is.
func (d *dictionary) first(keys ...string) any {
	for _, k := range keys {
		if v := d.get(k); v != nil {
			return v
		}
	}
	return nil
}

// slimeSample fills the row of a sample of train_data or rollout_data.
func slimeSample(a *archive, d *dictionary, row *Row) error {
	c, err := a.columns(d, map[string]string{"mask": d.named("loss_masks", "loss_mask"), "roll": "rollout_log_probs", "old": "log_probs", "ref": "ref_log_probs", "entropy": "entropy", "advantage": "advantages", "tokens": "tokens"})
	if err != nil {
		return err
	}
	n := whole(d.first("response_lengths", "response_length"))
	tokens, err := int32s(c["tokens"])
	if err != nil {
		return fmt.Errorf("tokens: %w", err)
	}
	if n == Unknown {
		return errors.New("a sample with no response length")
	}
	if n < 0 || n > len(tokens) {
		return fmt.Errorf("a response of %d among %d tokens", n, len(tokens))
	}
	row.Prompt, row.Token = tokens[:len(tokens)-n], tokens[len(tokens)-n:]
	row.Index, row.Group = whole(d.first("sample_index", "index")), whole(d.get("group_index"))
	row.Reward, _ = number(d.first("reward", "rewards"))
	reason, _ := d.get("status").(string)
	truncated, known := number(d.get("truncated"))
	if !known {
		truncated = nan
	}
	row.Finish = finish(reason, truncated)
	if versions, ok := d.get("weight_versions").(*list); ok {
		if a.left -= len(versions.items); a.left < 0 {
			return fmt.Errorf("its samples have more entries than the file has bytes")
		}
		for _, v := range versions.items {
			text, _ := v.(string)
			if version, err := strconv.Atoi(text); err == nil {
				row.spanVersion(version)
			}
		}
	}
	return row.respond(n, c)
}

// spanVersion widens the span of versions.
func (r *Row) spanVersion(v int) {
	if r.Head == Unknown {
		r.Head, r.Tail = v, v
	}
	r.Head, r.Tail = min(r.Head, v), max(r.Tail, v)
}

// milesSample fills the row of a sample of policy_loss_debug.
func milesSample(a *archive, d *dictionary, row *Row) error {
	c, err := a.columns(d, map[string]string{"mask": "local_loss_mask", "roll": "rollout_log_probs", "old": "old_log_probs", "new": "train_log_probs", "ref": "ref_log_probs", "entropy": "entropy", "advantage": "advantages"})
	if err != nil {
		return err
	}
	row.Index = whole(d.get("index"))
	return row.respond(len(c["mask"]), c)
}

// named is the first of these names that the sample has.
func (d *dictionary) named(names ...string) string {
	for _, n := range names {
		if d.get(n) != nil {
			return n
		}
	}
	return names[0]
}

// columns reads columns by the names that they have in the file.
func (a *archive) columns(d *dictionary, names map[string]string) (map[string][]float64, error) {
	c := map[string][]float64{}
	for _, to := range []string{"mask", "roll", "old", "new", "ref", "entropy", "advantage", "tokens"} {
		if name := names[to]; name != "" {
			x, err := a.column(d.get(name))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			c[to] = x
		}
	}
	return c, nil
}

// respond fills the columns of a response of n tokens.
func (r *Row) respond(n int, c map[string][]float64) error {
	for _, name := range []string{"mask", "roll", "old", "new", "ref", "entropy", "advantage"} {
		if x := c[name]; x != nil && len(x) != n {
			return fmt.Errorf("a column of %d entries for %d tokens (%s)", len(x), n, name)
		}
	}
	r.Roll, r.Old, r.New, r.Advantage = recorded(c["roll"]), recorded(c["old"]), recorded(c["new"]), c["advantage"]
	r.Ref, r.Entropy = recorded(c["ref"]), recorded(c["entropy"])
	r.Mask = make([]bool, n)
	for i := range r.Mask {
		r.Mask[i] = c["mask"] == nil || c["mask"][i] != 0
	}
	return nil
}
