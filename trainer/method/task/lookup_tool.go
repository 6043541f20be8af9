package task

// hidden stands in a prompt for an operand that only the tool knows.
const hidden = try

// symbols is a run of ids without meaning.
type symbols struct{ first, count int32 }

// symbolRange are the familiar symbols, or the rare ones.
func symbolRange(rare bool) symbols {
	if rare {
		return symbols{familiar0 + familiarSize, rareSize}
	}
	return symbols{familiar0, familiarSize}
}

// Symbols returns the ids that a reply may have before its operand: the rare
// ones of the tool, or the familiar ones of most demonstrations.
func (l *Lookup) Symbols(rare bool) []int32 {
	s := symbolRange(rare)
	ids := make([]int32, s.count)
	for i := range ids {
		ids[i] = s.first + int32(i)
	}
	return ids
}

// Reply implements Tool: behind "@" Output rare symbols and the operand of the
// marker before it. A call without a marker of the prompt is answered alike,
// with a digit of no use; one beyond MaxCalls is not answered.
func (l *Lookup) Reply(dst, prompt, response []int32) []int32 {
	n := len(response)
	if n == 0 || response[n-1] != callMark {
		return dst
	}
	calls := 0
	for _, id := range response {
		if id == callMark {
			calls++
		}
	}
	if calls > l.MaxCalls {
		return dst
	}
	argument := PAD
	if n > 1 {
		argument = response[n-2]
	}
	key, s := lookupKey(prompt), symbolRange(true)
	for i := range l.Output {
		at := uint64(calls)<<32 | uint64(i)
		dst = append(dst, s.first+int32(mix(key^mix(at))%uint64(s.count)))
	}
	return append(dst, digit(operandOf(key, prompt, argument)))
}

// operandOf is the operand that belongs to a marker: the prompt's, or the one
// it hides.
func operandOf(key uint64, prompt []int32, argument int32) int {
	for at := 1; at+2 < len(prompt); at += 3 {
		if prompt[at] != argument {
			continue
		}
		if d, ok := digitOf(prompt[at+2]); ok {
			return d
		}
	}
	return lookUp(key, argument)
}

// lookupKey is what the tool's table knows a prompt by.
func lookupKey(prompt []int32) uint64 {
	h := fnvOffset
	for _, id := range prompt {
		h = (h ^ uint64(uint32(id))) * fnvPrime
	}
	return h
}

// lookUp is the table: a digit for every prompt and marker.
func lookUp(key uint64, argument int32) int {
	return int(mix(key^uint64(uint32(argument))) % 10)
}
