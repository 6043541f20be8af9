package reader

import (
	"fmt"
	"slices"
	"strconv"
)

// step does one instruction. What pickles of these formats do not have is refused
// with the rest: instances of classes, extensions, buffers from outside.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := u.take(1)
		return err
	case 0x95: // FRAME
		_, err := u.take(8)
		return err
	case '(':
		u.push(mark{})
	case '0':
		if len(u.stack) == 0 {
			return fmt.Errorf("the stack is empty")
		}
		u.stack = u.stack[:len(u.stack)-1]
	case '1':
		_, err := u.popMark()
		return err
	case '2':
		v, err := u.pop()
		u.push(v)
		u.push(v)
		return err
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case ']', ')', 0x8f:
		u.push(&list{})
	case '}':
		u.push(&dictionary{})
	case 'I', 'L', 'F', 'J', 'K', 'M', 'G', 0x8a, 0x8b:
		return u.numeric(op)
	case 'V', 'X', 0x8c, 0x8d, 'U', 'T', 'B', 'C', 0x8e, 0x96:
		return u.textual(op)
	case 'l', 't', 'd', 'a', 'e', 's', 'u', 0x85, 0x86, 0x87, 0x90, 0x91:
		return u.collect(op)
	case 'p', 'g', 'q', 'h', 'r', 'j', 0x94:
		return u.remember(op)
	case 'c', 0x93, 'R', 0x81, 'b', 'Q':
		return u.build(op)
	default:
		return fmt.Errorf("instruction 0x%02x, which no dump that is known has", op)
	}
	return nil
}

// numeric pushes a number.
func (u *unpickler) numeric(op byte) error {
	switch op {
	case 'I', 'L':
		text, err := u.text()
		if err != nil {
			return err
		}
		v, err := decimal(text)
		u.push(v)
		return err
	case 'F':
		text, err := u.text()
		if err != nil {
			return err
		}
		v, err := strconv.ParseFloat(text, 64)
		u.push(v)
		return err
	case 'G':
		b, err := u.take(8)
		if err == nil {
			u.push(float(b))
		}
		return err
	case 0x8a, 0x8b: // LONG1, LONG4
		n, err := u.number(map[byte]int64{0x8a: 1, 0x8b: 4}[op])
		if err != nil {
			return err
		}
		if n > 1<<10 {
			return fmt.Errorf("a whole number of %d bytes", n)
		}
		b, err := u.take(n)
		u.push(long(b))
		return err
	}
	n, err := u.number(map[byte]int64{'J': 4, 'K': 1, 'M': 2}[op])
	if op == 'J' {
		n = int64(int32(n))
	}
	u.push(n)
	return err
}

// textual pushes a text, or the place of bytes.
func (u *unpickler) textual(op byte) error {
	if op == 'V' {
		text, err := u.text()
		u.push(text)
		return err
	}
	n, err := u.number(map[byte]int64{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4, 'B': 4, 'C': 1, 0x8e: 8, 0x96: 8}[op])
	if err != nil {
		return err
	}
	switch op {
	case 'B', 'C', 0x8e, 0x96:
		return u.bytes(n)
	}
	b, err := u.take(n)
	u.push(string(b))
	return err
}

// collect makes and fills lists, tuples, sets and dictionaries.
func (u *unpickler) collect(op byte) error {
	var items []any
	var err error
	switch op {
	case 0x85, 0x86, 0x87:
		items, err = u.popN(int(op - 0x84))
	case 'a':
		items, err = u.popN(1)
	case 's':
		items, err = u.popN(2)
	default:
		items, err = u.popMark()
	}
	if err != nil {
		return err
	}
	switch op {
	case 'l', 't', 0x85, 0x86, 0x87, 0x91:
		u.push(&list{items: slices.Clone(items)})
		return nil
	case 'd':
		u.push(&dictionary{})
	}
	if len(u.stack) == 0 {
		return fmt.Errorf("nothing to fill")
	}
	switch to := u.stack[len(u.stack)-1].(type) {
	case *list:
		if op == 'a' || op == 'e' || op == 0x90 {
			u.held -= int64(placeBytes * to.extend(items))
			return nil
		}
	case *dictionary:
		if (op == 's' || op == 'u' || op == 'd') && len(items)%2 == 0 {
			for i := 0; i < len(items); i += 2 {
				to.keys, to.values = append(to.keys, items[i]), append(to.values, items[i+1])
			}
			return nil
		}
	}
	return fmt.Errorf("entries for something that holds none")
}

// remember writes and reads the memo.
func (u *unpickler) remember(op byte) error {
	at, read := int64(len(u.memo)), false
	var err error
	switch op {
	case 'p', 'g':
		var text string
		if text, err = u.text(); err == nil {
			at, err = strconv.ParseInt(text, 10, 64)
		}
		read = op == 'g'
	case 'q', 'h':
		at, err = u.number(1)
		read = op == 'h'
	case 'r', 'j':
		at, err = u.number(4)
		read = op == 'j'
	}
	if err != nil {
		return err
	}
	if read {
		v, known := u.memo[int(at)]
		if !known {
			return fmt.Errorf("nothing is remembered as %d", at)
		}
		u.push(v)
		return nil
	}
	v, err := u.pop()
	if err == nil {
		u.push(v)
		u.memo[int(at)] = v
		u.held += memoBytes - placeBytes // v was there before
	}
	return err
}

// build names globals and notes what they would be applied to.
func (u *unpickler) build(op byte) error {
	switch op {
	case 'c':
		module, err := u.text()
		if err != nil {
			return err
		}
		name, err := u.text()
		if err != nil {
			return err
		}
		return u.global(module, name)
	case 'Q':
		v, err := u.pop()
		u.stored = append(u.stored, &stored{v})
		u.push(u.stored[len(u.stored)-1])
		return err
	}
	two, err := u.popN(2)
	if err != nil {
		return err
	}
	switch op {
	case 0x93: // STACK_GLOBAL
		module, ok := two[0].(string)
		name, named := two[1].(string)
		if !ok || !named {
			return fmt.Errorf("a global without a name")
		}
		return u.global(module, name)
	case 'b': // BUILD
		if to, ok := two[0].(*built); ok {
			to.state = two[1]
		}
		u.push(two[0])
		return nil
	}
	by, ok := two[0].(global)
	args, filled := two[1].(*list)
	if !ok || !filled {
		return fmt.Errorf("a call of something that is no global")
	}
	if by.name == "OrderedDict" {
		u.push(&dictionary{})
		return nil
	}
	u.push(&built{by: by, args: args.items})
	return nil
}

// global pushes a global if it is one of those that dumps have.
func (u *unpickler) global(module, name string) error {
	g := global{module, name}
	if !g.known() {
		return &unknownGlobal{g}
	}
	u.push(g)
	return nil
}
