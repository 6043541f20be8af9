package reader

import (
	"fmt"
	"strings"
)

// transported are the fields of prime-rl's MicroBatch, in the order in which they stand: the first ones are always there,
// what is behind them may be left out. A field that ends in a - is passed over.
//
// Source: prime-rl, src/prime_rl/transports/rollouts/types.py, commit 559b44772.
var transported = strings.Fields(`input_ids loss_mask advantages inference_logprobs position_ids- sequence_lengths temperatures env_names seq_lens- ref_logprobs
	routed_experts- mm_kwargs- mm_token_type_ids- rl_weights ce_weights- ref_kl_weights`)

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
	column  named
	lengths []float64   // of its sequences
	envs    []namedFrom // of the tokens
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
	b.column, b.envs, m.left = named{}, b.envs[:0], m.most
	format := formatOf("prime-transport")
	for i := range n {
		field := "-"
		if i < len(transported) {
			field = transported[i]
		}
		switch {
		case strings.HasSuffix(field, "-"):
			err = m.skip(0)
		case field == "sequence_lengths":
			b.lengths, err = m.numbers()
		case field == "env_names":
			b.envs, err = m.texts(b.envs)
		default:
			b.column[format.keys[format.index[field].place].name], err = m.numbers()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", strings.TrimSuffix(field, "-"), err)
		}
	}
	for _, k := range format.keys {
		if c := b.column[k.name]; c != nil && len(c) != len(b.column["token_ids"]) {
			return fmt.Errorf("%s has %d entries for %d tokens", k.names[0], len(c), len(b.column["token_ids"]))
		}
	}
	return nil
}

// sequences hands the sequences of a micro batch on, each cut where its training begins and ends.
func (f *File) sequences(b *microBatch, visit func(*Row) error) error {
	from := 0
	for _, length := range b.lengths {
		n := wholeOf(length)
		if n < 0 || n > len(b.column["token_ids"])-from || n > rowTokens {
			f.damage(f.Rows+1, 0, fmt.Sprintf("a sequence of %v tokens at token %d of %d", length, from, len(b.column["token_ids"])))
			return nil
		}
		c := named{}
		for name, x := range b.column {
			if x != nil {
				c[name] = x[from : from+n]
			}
		}
		s := sequence{n: n, to: n, column: c.column, called: formatOf("prime-transport").own, trained: primeTrained(c["mask"], c["rl_weights"], c["ref_kl_weights"])}
		for s.from < s.to && !s.trained(s.from) {
			s.from++
		}
		for s.to > s.from && !s.trained(s.to-1) {
			s.to--
		}
		var row Row
		row.reset()
		row.Line, row.Step, row.Env = f.Rows+1, StepNamed(f.Name), b.env(from)
		err := row.fill(s)
		if t := c["temperatures"]; s.from < s.to && t != nil {
			row.Temperature = t[s.from]
		}
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
