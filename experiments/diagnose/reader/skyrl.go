package reader

import (
	"fmt"
	"io"
	"strings"
)

// readPickle reads SkyRL's global_step_{N}_training_input.pkl: a tensor batch,
// padded on the left, so that token j of a response of width R is column S-R+j of
// the sequences. What stands left of a response is arbitrary. base_action_log_probs
// are the reference model's.
//
// Source: SkyRL, skyrl/backends/skyrl_train/training_batch.py.
func (f *File) readPickle(in file, visit func(*Row) error) error {
	root, err := newUnpickler(in.at, 0, in.size, in.most.pickled).value()
	if err != nil {
		return refuse(in.name, err)
	}
	b, ok := root.(*built)
	if !ok || b.by.name != "_rebuild_tensor_batch" || len(b.args) != 2 {
		return &Refused{in.name, "a pickle that is no tensor batch of SkyRL", "other pickles must be converted into the neutral format"}
	}
	state, ok := b.args[1].(*dictionary)
	batch, filled := state.lookup("batch_dict").(*dictionary)
	if !ok || !filled {
		return &Refused{in.name, "a tensor batch without batch_dict", "write it again"}
	}
	f.Format = "skyrl"
	s := skyrl{in: in, batch: batch, group: map[int]int{}}
	if err := s.open(); err != nil {
		return &Refused{in.name, err.Error(), "write it again"}
	}
	metadata, _ := state.get("metadata").(*dictionary)
	s.groups(metadata)
	f.unreadOf(batch, batchKeys)
	f.noteUnread(batchKeys)
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

// batchKeys are the tensors of a batch that are read.
var batchKeys = strings.Fields("sequences attention_mask response_mask loss_mask rollout_logprobs action_log_probs base_action_log_probs advantages")

// skyrl is a tensor batch.
type skyrl struct {
	in    file
	batch *dictionary
	// sequences and attention are B by S, the others B by R.
	sequences, attention, response, mask, roll, old, ref, advantage *tensor
	rows, wide, width                                               int
	group                                                           map[int]int
}

// open finds the tensors, and checks that they fit each other.
func (s *skyrl) open() error {
	for _, c := range []struct {
		to   **tensor
		name string
	}{
		{&s.sequences, "sequences"}, {&s.attention, "attention_mask"}, {&s.response, "response_mask"}, {&s.mask, "loss_mask"},
		{&s.roll, "rollout_logprobs"}, {&s.old, "action_log_probs"}, {&s.ref, "base_action_log_probs"}, {&s.advantage, "advantages"},
	} {
		t, err := s.tensor(s.batch.get(c.name))
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		if t != nil && len(t.shape) != 2 {
			return fmt.Errorf("%s: a tensor of shape %v where rows belong", c.name, t.shape)
		}
		*c.to = t
	}
	if s.sequences == nil || s.mask == nil {
		return fmt.Errorf("there are no sequences or no loss_mask")
	}
	s.rows, s.wide, s.width = s.mask.shape[0], s.sequences.shape[1], s.mask.shape[1]
	if s.width == 0 || s.wide > rowTokens {
		return fmt.Errorf("sequences of %d tokens with responses of %d: from 1 to %d can be read", s.wide, s.width, rowTokens)
	}
	for _, t := range []*tensor{s.response, s.mask, s.roll, s.old, s.ref, s.advantage} {
		if t != nil && (t.shape[0] != s.rows || t.shape[1] != s.width) {
			return fmt.Errorf("tensors of %v and %v do not fit each other", t.shape, s.mask.shape)
		}
	}
	if s.sequences.shape[0] != s.rows || s.wide < s.width || s.attention != nil && (s.attention.shape[0] != s.rows || s.attention.shape[1] != s.wide) {
		return fmt.Errorf("sequences of %v do not fit responses of %v", s.sequences.shape, s.mask.shape)
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
		return newTensor(s.in.at, data.from, data.n, kind, shape)
	}
	if !beginsAs(s.in.at, data, "PK") {
		return nil, fmt.Errorf("a tensor of torch that is no torch file")
	}
	a, err := openArchive(io.NewSectionReader(s.in.at, data.from, data.n), data.n, s.in.most.pickled/8) // one of eight
	if err != nil {
		return nil, err
	}
	b, ok := a.root.(*built)
	if !ok {
		return nil, fmt.Errorf("a torch file without a tensor")
	}
	return a.tensor(b)
}

// groups reads the boundaries of prompts.
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

// row fills a response.
func (s *skyrl) row(i int, row *Row) error {
	read := func(t *tensor, wide int) []float64 {
		if t == nil {
			return nil
		}
		x, err := t.read(i*wide, wide)
		if err != nil {
			return nil // newTensor has seen that it is there
		}
		return x
	}
	mask, response := read(s.mask, s.width), read(s.response, s.width)
	if response == nil {
		response = mask
	}
	first := 0
	for first < s.width && response[first] == 0 {
		first++
	}
	ids, err := int32s(read(s.sequences, s.wide))
	if err != nil {
		return err
	}
	begin := s.wide - s.width + first
	prompt := 0
	if attention := read(s.attention, s.wide); attention != nil {
		for prompt < begin && attention[prompt] == 0 {
			prompt++
		}
	}
	row.Prompt, row.Token = ids[prompt:begin], ids[begin:]
	if g, ok := s.group[i]; ok {
		row.Group = g
	}
	cut := func(x []float64) []float64 {
		if x == nil {
			return nil
		}
		return x[first:]
	}
	return row.respond(s.width-first, map[string][]float64{
		"mask": cut(mask), "roll": cut(read(s.roll, s.width)), "old": cut(read(s.old, s.width)), "ref": cut(read(s.ref, s.width)), "advantage": cut(read(s.advantage, s.width)),
	})
}
