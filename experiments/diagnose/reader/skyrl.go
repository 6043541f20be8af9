package reader

import (
	"fmt"
	"io"
)

// readPickle reads SkyRL's global_step_{N}_training_input.pkl: a tensor batch,
// padded on the left, so that token j of a response of width R is column S-R+j of
// the sequences. What stands left of a response is arbitrary. base_action_log_probs
// are the reference model's.
//
// Source: SkyRL, skyrl/backends/skyrl_train/training_batch.py.
func (f *File) readPickle(in Input, visit func(*Row) error) error {
	root, err := newUnpickler(in.At, 0, in.Size, in.most().pickled).value()
	if err != nil {
		return refuse(in.Name, err)
	}
	b, ok := root.(*built)
	if !ok || b.by.name != "_rebuild_tensor_batch" || len(b.args) != 2 {
		return &Refused{in.Name, "a pickle that is no tensor batch of SkyRL", "other pickles must be converted into the neutral format"}
	}
	state, ok := b.args[1].(*dictionary)
	batch, filled := state.lookup("batch_dict").(*dictionary)
	if !ok || !filled {
		return &Refused{in.Name, "a tensor batch without batch_dict", "write it again"}
	}
	f.Format = "skyrl"
	s := skyrl{in: in, batch: batch, group: map[int]int{}}
	if err := s.open(); err != nil {
		return &Refused{in.Name, err.Error(), "write it again"}
	}
	metadata, _ := state.get("metadata").(*dictionary)
	s.groups(metadata)
	f.unreadOf(batch, formatOf("skyrl"))
	f.noteUnread(formatOf("skyrl").names())
	for i := range s.rows {
		var row Row
		row.reset()
		row.Line = i + 1
		if step := whole(metadata.lookup("global_step")); step != Unknown {
			row.Step = step
		}
		if err := s.row(i, &row); err != nil {
			f.damage(i+1, 0, err.Error())
			continue
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

// skyrl is a tensor batch. token_ids and attention_mask are B by S, the other tensors B by R.
type skyrl struct {
	in                Input
	batch             *dictionary
	tensors           map[string]*tensor // by the keys of the format
	rows, wide, width int
	group             map[int]int
}

// open finds the tensors, and checks that they fit each other.
func (s *skyrl) open() error {
	s.tensors = map[string]*tensor{}
	for _, k := range formatOf("skyrl").keys {
		t, err := s.tensor(s.batch.get(k.names[0]))
		if err != nil {
			return fmt.Errorf("%s: %w", k.names[0], err)
		}
		if t != nil && len(t.shape) != 2 {
			return fmt.Errorf("%s: a tensor of shape %v where rows belong", k.names[0], t.shape)
		}
		if t != nil {
			s.tensors[k.name] = t
		}
	}
	ids, mask := s.tensors["token_ids"], s.tensors["mask"]
	if ids == nil || mask == nil {
		return fmt.Errorf("there are no sequences or no loss_mask")
	}
	s.rows, s.wide, s.width = mask.shape[0], ids.shape[1], mask.shape[1]
	if s.width == 0 || s.wide > rowTokens {
		return fmt.Errorf("sequences of %d tokens with responses of %d: from 1 to %d can be read", s.wide, s.width, rowTokens)
	}
	for _, k := range formatOf("skyrl").keys {
		width := s.width
		if k.name == "token_ids" || k.name == "attention_mask" {
			width = s.wide
		}
		if t := s.tensors[k.name]; t != nil && (t.shape[0] != s.rows || t.shape[1] != width) || s.wide < s.width {
			return fmt.Errorf("%s of %v does not fit sequences of %v and responses of %v", k.names[0], t.shape, ids.shape, mask.shape)
		}
	}
	return nil
}

// tensor is an entry of the batch: {format: numpy, data, shape, dtype}, or
// {format: torch, data} with the bytes of torch.save; nil for None.
func (s *skyrl) tensor(v any) (*tensor, error) {
	d, ok := v.(*dictionary)
	if !ok {
		if v == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("%T where a tensor belongs", v)
	}
	data, ok := d.get("data").(span)
	if !ok {
		return nil, fmt.Errorf("a tensor without data")
	}
	if d.get("format") != "torch" {
		kind, _ := d.get("dtype").(string)
		shape, err := shapeOf(d.get("shape"))
		if err != nil {
			return nil, err
		}
		return newTensor(s.in.At, data.from, data.n, kind, shape)
	}
	if !beginsAs(s.in.At, data, "PK") {
		return nil, fmt.Errorf("a tensor of torch that is no torch file")
	}
	a, err := openArchive(io.NewSectionReader(s.in.At, data.from, data.n), data.n, s.in.most().pickled/8) // one of eight
	if err != nil {
		return nil, err
	}
	b, ok := a.root.(*built)
	if !ok {
		return nil, fmt.Errorf("a torch file without a tensor")
	}
	return a.tensor(b)
}

func (s *skyrl) groups(metadata *dictionary) {
	bounds, _ := metadata.lookup("policy_prompt_boundaries").(*list)
	if bounds == nil {
		return
	}
	next := 0 // groups follow each other
	for g, v := range bounds.items {
		if pair, ok := v.(*list); ok && pair.len() == 2 {
			for next = max(whole(pair.at(0)), next); next < min(whole(pair.at(1)), s.rows); next++ {
				s.group[next] = g
			}
		}
	}
}

func (s *skyrl) row(i int, row *Row) error {
	c := named{}
	for key, t := range s.tensors {
		x, err := t.read(i*t.shape[1], t.shape[1])
		if err == nil { // newTensor has seen that it is there
			c[key] = x
		}
	}
	response := c["response_mask"]
	if response == nil {
		response = c["mask"]
	}
	first := 0
	for first < s.width && response[first] == 0 {
		first++
	}
	lead := s.wide - s.width // of the sequences before the columns of the response
	prompt := 0
	for attention := c["attention_mask"]; attention != nil && prompt < lead+first && attention[prompt] == 0; {
		prompt++
	}
	if g, ok := s.group[i]; ok {
		row.Group = g
	}
	for key, x := range c {
		if len(x) == s.width && key != "token_ids" {
			c[key] = x[first:]
		}
	}
	c["token_ids"] = c["token_ids"][prompt:]
	return row.fill(sequence{n: s.width - first, to: s.width - first, column: c.column, called: formatOf("skyrl").own})
}
