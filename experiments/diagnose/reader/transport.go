package reader

import "fmt"

// transported are the fields of prime-rl's MicroBatch, in the order in which they stand: the first ones are always there,
// what is behind them may be left out. A field that is skipped is not read.
//
// Source: prime-rl, src/prime_rl/transports/rollouts/types.py, commit 559b44772.
var transported = []struct {
	name string
	kind kind
}{
	{"input_ids", numbers}, {"loss_mask", numbers}, {"advantages", numbers}, {"inference_logprobs", numbers}, {"position_ids", skipped},
	{"sequence_lengths", numbers}, {"temperatures", numbers}, {"env_names", texts}, {"seq_lens", skipped}, {"ref_logprobs", numbers},
	{"routed_experts", skipped}, {"mm_kwargs", skipped}, {"mm_token_type_ids", skipped}, {"rl_weights", numbers}, {"ce_weights", skipped}, {"ref_kl_weights", numbers},
}

// transportedAlways is how many of them every micro batch has.
const transportedAlways = 9

// readTransport reads prime-rl's rollouts/step_{n}/rank_{r}.bin, a list of micro batches in msgpack: each packs sequences,
// prompt and response alike, with the rollout engine's log-probs.
func (f *File) readTransport(in file, visit func(*Row) error) error {
	m := newUnpacker(in.at, in.size, in.most)
	batches, err := m.list()
	if err != nil {
		return &Refused{in.name, err.Error(), "of files of msgpack prime-rl's rank_{r}.bin can be read"}
	}
	var b microBatch
	for i := range batches {
		if err := b.read(m); err != nil {
			if i == 0 {
				return &Refused{in.name, "no list of micro batches as prime-rl 559b44772 writes it: " + err.Error(), "enable_token_export of the trainer writes what can be read"}
			}
			f.damage(f.Rows+1, m.pos, fmt.Sprintf("micro batch %d: %v", i, err))
			return nil // where the next one begins is unknown
		}
		f.Format = "prime-transport"
		f.note(generatorAlone)
		if err := f.sequences(&b, visit); err != nil {
			return err
		}
	}
	if f.Format == "" {
		return &Refused{in.name, "a list without micro batches", "write it again"}
	}
	return nil
}

// microBatch is what is read of one.
type microBatch struct {
	column map[string][]float64
	envs   []namedFrom // of the tokens
}

// namedFrom is a text that holds from a token on.
type namedFrom struct {
	from int
	text string
}

// read takes in the next micro batch.
func (b *microBatch) read(m *unpacker) error {
	n, err := m.list()
	if err != nil {
		return err
	}
	if n < transportedAlways {
		return fmt.Errorf("%d fields, where at least %d belong", n, transportedAlways)
	}
	b.column, b.envs, m.left = map[string][]float64{}, b.envs[:0], m.most
	for i := range n {
		if i >= len(transported) {
			if err := m.skip(0); err != nil {
				return err
			}
			continue
		}
		field := transported[i]
		switch field.kind {
		case numbers:
			b.column[field.name], err = m.numbers()
		case texts:
			b.envs, err = m.texts(b.envs)
		default:
			err = m.skip(0)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", field.name, err)
		}
	}
	tokens := len(b.column["input_ids"])
	for _, name := range []string{"loss_mask", "advantages", "inference_logprobs", "temperatures", "ref_logprobs", "rl_weights", "ref_kl_weights"} {
		if c := b.column[name]; c != nil && len(c) != tokens {
			return fmt.Errorf("%s has %d entries for %d tokens", name, len(c), tokens)
		}
	}
	return nil
}

// sequences hands the sequences of a micro batch on.
func (f *File) sequences(b *microBatch, visit func(*Row) error) error {
	from := 0
	c := b.column
	for _, length := range c["sequence_lengths"] {
		n := wholeOf(length)
		if n < 0 || n > len(c["input_ids"])-from || n > rowTokens {
			f.damage(f.Rows+1, 0, fmt.Sprintf("a sequence of %v tokens at token %d of %d", length, from, len(c["input_ids"])))
			return nil
		}
		cut := func(name string) []float64 {
			if c[name] == nil {
				return nil
			}
			return c[name][from : from+n]
		}
		var row Row
		row.reset()
		row.Line, row.Step, row.Env = f.Rows+1, StepNamed(f.Name), b.env(from)
		err := row.transported(cut)
		from += n
		if err != nil {
			f.damage(row.Line, 0, err.Error())
			continue
		}
		if err := f.send(&row, visit); err != nil {
			return err
		}
	}
	return nil
}

// transported fills the row of a sequence, which is cut where the training begins and ends.
func (r *Row) transported(cut func(name string) []float64) (err error) {
	mask, rl, ref := cut("loss_mask"), cut("rl_weights"), cut("ref_kl_weights")
	trained := func(i int) bool {
		return mask[i] == 1 && (rl == nil || rl[i] != 0 || ref != nil && ref[i] != 0)
	}
	first, end := 0, len(mask)
	for first < end && !trained(first) {
		first++
	}
	for end > first && !trained(end-1) {
		end--
	}
	if r.Prompt, r.Token, err = splitIDs(cut("input_ids"), first, end); err != nil {
		return fmt.Errorf("input_ids: %w", err)
	}
	r.PromptRoll, r.Roll = split(recorded(cut("inference_logprobs")), first, end)
	_, r.Ref = split(recorded(cut("ref_logprobs")), first, end)
	_, r.Advantage = split(cut("advantages"), first, end)
	if _, t := split(cut("temperatures"), first, end); len(t) > 0 {
		r.Temperature = t[0]
	}
	r.Mask = make([]bool, end-first)
	for i := range r.Mask {
		r.Mask[i] = trained(first + i)
	}
	return nil
}

// env is the environment of a token; tokens are asked for in order.
func (b *microBatch) env(token int) string {
	for len(b.envs) > 1 && b.envs[1].from <= token {
		b.envs = b.envs[1:]
	}
	if len(b.envs) == 0 || b.envs[0].from > token {
		return ""
	}
	return b.envs[0].text
}
