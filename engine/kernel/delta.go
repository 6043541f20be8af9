package kernel

import (
	"fmt"
	"strconv"
	"strings"

	"driftlab/precision"
)

// LinearAttention is the form in which a gated delta rule is computed. Both forms are the
// same function; they differ in the order of their sums and in what is rounded on the way.
// The zero value is the recurrent form with a float32 state.
type LinearAttention struct {
	// Chunk is the number of positions of a chunk, at absolute positions 0, Chunk, 2·Chunk,
	// ...; 0 is the recurrent form, token by token.
	Chunk int
	// State is the format of the state as it is kept: after each token in the recurrent
	// form, after each chunk in the chunked one. The zero Format is float32.
	State precision.Format
}

// DeltaNumerics declares the arithmetic of a gated delta rule.
type DeltaNumerics struct {
	LinearAttention
	// Operands is the format of what enters the matrix products of the chunked form: tensor
	// cores read no float32. The recurrent form has no matrix products: between its inputs
	// and its output all is float32.
	Operands precision.Format
	// Output is the format of the result.
	Output precision.Format
}

// DeltaStateSize is the number of floats that a sequence carries from one call of DeltaRule
// to the next: the state of each head, [heads][headDim][headDim], and of the chunked form
// keys, values, write strengths and decays of the chunk that is not complete.
func DeltaStateSize(heads, headDim int, form LinearAttention) int {
	return heads*headDim*headDim + form.Chunk*(2*heads*headDim+2*heads)
}

// DeltaRule computes rows consecutive positions of one sequence, the first of which stands at
// position first, by the gated delta rule (arXiv:2412.06464, equation 10). For each head, with
// α = exp(decay),
//
//	S ← α·S,  u = β·(v - Sᵀk),  S ← S + k·uᵀ,  out = round(Sᵀq)
//
// and then the state is rounded. The chunked form computes a chunk of rows r by the WY
// representation and the UT transform (arXiv:2406.06484, section 3.2; 2412.06464, section
// 3.3): with S the state before the chunk, G_r the sum of the decays of its rows up to r,
// Γ_ri = exp(G_r - G_i) and γ_r = exp(G_r),
//
//	L_ri = β_r·(k_r·k_i)·Γ_ri for i < r,   T = (I + L)⁻¹ by forward substitution
//	u = round(round(T·round(β·v)) - round(T·round(β·γ·k))·S),  T and S rounded, too
//	out_r = round(γ_r·(Sᵀq_r) + Σ_{i≤r} round((q_r·k_i)·Γ_ri)·u_i)
//	S ← γ_C·S + Σ_i k_i·round(Γ_Ci·u_i)ᵀ after its last row
//
// where round is to num.Operands. Sums are chains of products that are rounded to float32
// before they are added. A row depends on the rows before it alone: it has the same bits in a
// call for it alone and in one for its whole sequence, in either form.
//
// q, k, v and out are [rows, heads·headDim], beta and decay [rows, heads]; state has
// DeltaStateSize floats and is cleared at position 0. q comes with its scale.
func DeltaRule(out, q, k, v, beta, decay, state []float32, rows, heads, headDim, first int, num DeltaNumerics, s *Scratch) {
	d := heads * headDim
	if min(len(out), len(q), len(k), len(v)) < rows*d || min(len(beta), len(decay)) < rows*heads || len(state) < DeltaStateSize(heads, headDim, num.LinearAttention) || num.Chunk < 0 {
		panic(fmt.Sprintf("kernel: DeltaRule out %d, q %d, k %d, v %d, beta %d, decay %d, state %d: %d rows of %d heads of %d, chunks of %d",
			len(out), len(q), len(k), len(v), len(beta), len(decay), len(state), rows, heads, headDim, num.Chunk))
	}
	s = s.orNew()
	if first == 0 {
		clear(state)
	}
	if num.Chunk == 0 {
		memory := grown(&s.delta, headDim)
		for r := range rows {
			for h := range heads {
				at := r*d + h*headDim
				deltaStep(out[at:][:headDim], q[at:][:headDim], k[at:][:headDim], v[at:][:headDim], beta[r*heads+h], decay[r*heads+h],
					state[h*headDim*headDim:][:headDim*headDim], memory)
			}
			roundTo(num.State, state[:d*headDim])
		}
	} else {
		c := newDeltaChunk(state, heads, headDim, num, s)
		for r := 0; r < rows; {
			from := (first + r) % num.Chunk
			n := min(num.Chunk-from, rows-r)
			copy(c.k[from*d:], k[r*d:(r+n)*d])
			copy(c.v[from*d:], v[r*d:(r+n)*d])
			copy(c.beta[from*heads:], beta[r*heads:(r+n)*heads])
			copy(c.decay[from*heads:], decay[r*heads:(r+n)*heads])
			for h := range heads {
				c.head(out[r*d+h*headDim:], q[r*d+h*headDim:], h, from, from+n)
			}
			if from+n == num.Chunk {
				roundTo(num.State, state[:d*headDim])
			}
			r += n
		}
	}
	roundTo(num.Output, out[:rows*d])
}

// deltaStep is one token of one head: memory is for Sᵀk, then u.
func deltaStep(out, q, k, v []float32, beta, decay float32, state, memory []float32) {
	n := len(k)
	scaleInto(state, Exp32(decay))
	u := deltaWrite(memory, k, v, beta, state)
	clear(out)
	for i, x := range k {
		row := state[i*n : (i+1)*n]
		AddScaled(row, u, x)
		AddScaled(out, row, q[i])
	}
}

// deltaWrite sets dst to what a decayed state takes up, β·(v - Sᵀk).
func deltaWrite(dst, k, v []float32, beta float32, state []float32) []float32 {
	n := len(k)
	clear(dst)
	for i, x := range k {
		AddScaled(dst, state[i*n:(i+1)*n], x)
	}
	for j, x := range v {
		dst[j] = beta * (x - dst[j])
	}
	return dst
}

// deltaChunk is a chunk of a sequence: state and rows of all heads, and memory for one head.
type deltaChunk struct {
	state, k, v, beta, decay []float32
	heads, headDim           int
	num                      DeltaNumerics

	read            []float32 // [headDim][headDim] the state as products read it
	ratio           []float32 // [chunk][chunk] Γ
	solved          []float32 // [chunk][chunk] T
	rounded         []float32 // [chunk] a row of T as products read it
	keys, values, u []float32 // [chunk][headDim] β·γ·k, β·v, u
	w               []float32 // [headDim]
	sums            []float32 // [chunk] G
}

// newDeltaChunk lays the parts of a state and of the scratch memory out.
func newDeltaChunk(state []float32, heads, headDim int, num DeltaNumerics, s *Scratch) *deltaChunk {
	n, d := num.Chunk, heads*headDim
	c := &s.chunk
	*c = deltaChunk{heads: heads, headDim: headDim, num: num}
	take := func(from []float32, n int) (part, rest []float32) { return from[:n:n], from[n:] }
	c.state, state = take(state, d*headDim)
	c.k, state = take(state, n*d)
	c.v, state = take(state, n*d)
	c.beta, state = take(state, n*heads)
	c.decay, _ = take(state, n*heads)
	memory := grown(&s.delta, headDim*headDim+2*n*n+2*n+3*n*headDim+headDim)
	c.read, memory = take(memory, headDim*headDim)
	c.ratio, memory = take(memory, n*n)
	c.solved, memory = take(memory, n*n)
	c.rounded, memory = take(memory, n)
	c.sums, memory = take(memory, n)
	c.keys, memory = take(memory, n*headDim)
	c.values, memory = take(memory, n*headDim)
	c.u, memory = take(memory, n*headDim)
	c.w, _ = take(memory, headDim)
	return c
}

// head computes the rows from..to-1 of the chunk for one head, whose earlier rows it computes
// again: out and q begin at the row from. A chunk that is complete moves the state.
func (c *deltaChunk) head(out, q []float32, h, from, to int) {
	hd, d, chunk := c.headDim, c.heads*c.headDim, c.num.Chunk
	state := c.state[h*hd*hd : (h+1)*hd*hd]
	roundSlice(c.num.Operands, c.read, state)
	c.solve(h, to)
	for r := range to {
		c.write(r)
	}
	for r := from; r < to; r++ {
		y, x := out[(r-from)*d:][:hd], q[(r-from)*d:][:hd]
		clear(y)
		for i, a := range x {
			AddScaled(y, c.read[i*hd:(i+1)*hd], a)
		}
		scaleInto(y, Exp32(c.sums[r]))
		weights := c.rounded[:r+1]
		for i := range weights {
			weights[i] = dot(x, c.k[i*d+h*hd:][:hd]) * c.ratio[r*chunk+i]
		}
		roundTo(c.num.Operands, weights)
		mix := c.w
		clear(mix)
		for i, a := range weights {
			AddScaled(mix, c.u[i*hd:(i+1)*hd], a)
		}
		addInto(y, mix)
	}
	if to < chunk {
		return
	}
	last := chunk - 1
	scaleInto(state, Exp32(c.sums[last]))
	for i := range chunk {
		u := c.u[i*hd : (i+1)*hd]
		scaleInto(u, c.ratio[last*chunk+i])
		roundTo(c.num.Operands, u)
		for j, x := range c.k[i*d+h*hd:][:hd] {
			AddScaled(state[j*hd:(j+1)*hd], u, x)
		}
	}
}

// solve fills Γ, G and T of a head for the chunk's first n rows, and the operands that T
// multiplies.
func (c *deltaChunk) solve(h, n int) {
	hd, d, chunk := c.headDim, c.heads*c.headDim, c.num.Chunk
	sum := float32(0)
	for r := range n {
		sum += c.decay[r*c.heads+h]
		c.sums[r] = sum
		beta, k := c.beta[r*c.heads+h], c.k[r*d+h*hd:][:hd]
		row, lower := c.solved[r*chunk:][:r+1], c.rounded[:r]
		for i := range lower {
			c.ratio[r*chunk+i] = Exp32(sum - c.sums[i])
			lower[i] = float32(beta*dot(k, c.k[i*d+h*hd:][:hd])) * c.ratio[r*chunk+i]
		}
		c.ratio[r*chunk+r] = 1
		clear(row)
		for i, l := range lower {
			AddScaled(row[:i+1], c.solved[i*chunk:][:i+1], -l)
		}
		row[r] = 1
		key, value := c.keys[r*hd:(r+1)*hd], c.values[r*hd:(r+1)*hd]
		by := float32(beta * Exp32(sum))
		for i, x := range k {
			key[i] = by * x
		}
		for i, x := range c.v[r*d+h*hd:][:hd] {
			value[i] = beta * x
		}
		roundTo(c.num.Operands, key)
		roundTo(c.num.Operands, value)
	}
}

// write computes u of row r.
func (c *deltaChunk) write(r int) {
	hd, chunk := c.headDim, c.num.Chunk
	t, w, u := c.rounded[:r+1], c.w, c.u[r*hd:(r+1)*hd]
	roundSlice(c.num.Operands, t, c.solved[r*chunk:][:r+1])
	clear(w)
	clear(u)
	for i, a := range t {
		AddScaled(w, c.keys[i*hd:(i+1)*hd], a)
		AddScaled(u, c.values[i*hd:(i+1)*hd], a)
	}
	roundTo(c.num.Operands, w)
	roundTo(c.num.Operands, u)
	for i, a := range w {
		AddScaled(u, c.read[i*hd:(i+1)*hd], -a)
	}
	roundTo(c.num.Operands, u)
}

// dot is one chain of products, each rounded before it is added.
func dot(x, y []float32) float32 {
	var sum float32
	y = y[:len(x)]
	for i, v := range x {
		sum += float32(v * y[i])
	}
	return sum
}

// DeltaRuleGrad is the backward pass of DeltaRule over a whole sequence. It sets the gradients
// of queries, keys, values, write strengths and decays from that of the result, by the
// recurrence backward in time, in float32 and straight through all roundings. The states on
// the way are computed again from the inputs, rounded to num.State where the form keeps them.
// Both forms are the same function, so one backward pass serves both.
func DeltaRuleGrad(dq, dk, dv, dbeta, ddecay, dout, q, k, v, beta, decay []float32, rows, heads, headDim int, num DeltaNumerics, s *Scratch) {
	d, size := heads*headDim, headDim*headDim
	if min(len(dq), len(dk), len(dv), len(dout), len(q), len(k), len(v)) < rows*d || min(len(dbeta), len(ddecay), len(beta), len(decay)) < rows*heads {
		panic(fmt.Sprintf("kernel: DeltaRuleGrad dq %d, dk %d, dv %d, dbeta %d, ddecay %d, dout %d: %d rows of %d heads of %d",
			len(dq), len(dk), len(dv), len(dbeta), len(ddecay), len(dout), rows, heads, headDim))
	}
	s = s.orNew()
	memory := grown(&s.delta, (rows+3)*size+3*headDim)
	states, decayed, after, dstate := memory[:rows*size], memory[rows*size:][:size], memory[(rows+1)*size:][:size], memory[(rows+2)*size:][:size]
	u, du, w := memory[(rows+3)*size:][:headDim], memory[(rows+3)*size+headDim:][:headDim], memory[(rows+3)*size+2*headDim:][:headDim]
	period := max(num.Chunk, 1)
	for h := range heads {
		at := func(x []float32, r int) []float32 { return x[r*d+h*headDim:][:headDim] }
		clear(after)
		for r := range rows { // states[r] is what row r finds
			copy(states[r*size:], after)
			scaleInto(after, Exp32(decay[r*heads+h]))
			deltaWrite(u, at(k, r), at(v, r), beta[r*heads+h], after)
			for i, x := range at(k, r) {
				AddScaled(after[i*headDim:(i+1)*headDim], u, x)
			}
			if (r+1)%period == 0 {
				roundTo(num.State, after)
			}
		}
		clear(dstate)
		for r := rows - 1; r >= 0; r-- {
			before, b, alpha := states[r*size:(r+1)*size], beta[r*heads+h], Exp32(decay[r*heads+h])
			copy(decayed, before)
			scaleInto(decayed, alpha)
			deltaWrite(w, at(k, r), at(v, r), 1, decayed)
			for j, x := range w {
				u[j] = b * x
			}
			copy(after, decayed)
			clear(du)
			for i, x := range at(k, r) {
				row, drow := after[i*headDim:(i+1)*headDim], dstate[i*headDim:(i+1)*headDim]
				AddScaled(row, u, x)
				at(dq, r)[i] = dot(row, at(dout, r))
				AddScaled(drow, at(dout, r), at(q, r)[i])
				AddScaled(du, drow, x)
				at(dk, r)[i] = dot(drow, u)
			}
			dbeta[r*heads+h] = dot(du, w)
			scaleInto(du, b)
			copy(at(dv, r), du)
			var dalpha float32
			for i, x := range at(k, r) {
				drow := dstate[i*headDim : (i+1)*headDim]
				at(dk, r)[i] -= dot(decayed[i*headDim:(i+1)*headDim], du)
				AddScaled(drow, du, -x)
				dalpha += dot(drow, before[i*headDim:(i+1)*headDim])
			}
			ddecay[r*heads+h] = alpha * dalpha
			scaleInto(dstate, alpha)
		}
	}
}

// Names of the two forms, and the chunk that the chunked one has without a number.
const (
	recurrentName   = "recurrent"
	chunkedName     = "chunked"
	usualDeltaChunk = 16
	// maxDeltaChunk bounds the chunks: a decoding step computes its own again.
	maxDeltaChunk = 256
)

// Validate reports whether chunk and state are possible.
func (l LinearAttention) Validate() error {
	if l.Chunk < 0 || l.Chunk > maxDeltaChunk {
		return fmt.Errorf("kernel: linear attention has chunks of 1 to %d positions, not %d", maxDeltaChunk, l.Chunk)
	}
	if l.State == (precision.Format{}) {
		return nil
	}
	if l.State.Integer() {
		return fmt.Errorf("kernel: the state of linear attention has no scale: use a floating-point format, not %s", l.State)
	}
	return l.State.Validate()
}

// String returns "recurrent", "chunked:16", "recurrent:bf16", "chunked:16:bf16": the form, and
// the format of the state where it is not float32.
func (l LinearAttention) String() string {
	text := recurrentName
	if l.Chunk != 0 {
		text = chunkedName + ":" + strconv.Itoa(l.Chunk)
	}
	if !exact(l.State) {
		text += ":" + l.State.String()
	}
	return text
}

// MarshalText writes String.
func (l LinearAttention) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads what String writes; "chunked" alone has chunks of 16.
func (l *LinearAttention) UnmarshalText(text []byte) error {
	parts := strings.Split(string(text), ":")
	form := LinearAttention{}
	rest := parts[1:]
	switch parts[0] {
	case recurrentName:
	case chunkedName:
		form.Chunk = usualDeltaChunk
		if len(rest) > 0 && rest[0] != "" && rest[0][0] >= '0' && rest[0][0] <= '9' {
			n, err := strconv.Atoi(rest[0])
			if err != nil || n < 1 {
				return fmt.Errorf("linear attention %q: %q is not a number of positions, 1 to %d", text, rest[0], maxDeltaChunk)
			}
			form.Chunk, rest = n, rest[1:]
		}
	default:
		return fmt.Errorf("unknown form of linear attention %q: use recurrent or chunked:16, with the format of the state behind it, such as recurrent:bf16", text)
	}
	if len(rest) > 1 {
		return fmt.Errorf("linear attention %q: nothing goes behind the format of the state, such as recurrent:bf16", text)
	}
	if len(rest) == 1 {
		f, err := precision.ParseFormat(rest[0])
		if err != nil {
			return fmt.Errorf("linear attention %q: the state: %w", text, err)
		}
		if !f.Identity() {
			form.State = f
		}
	}
	if err := form.Validate(); err != nil {
		return err
	}
	*l = form
	return nil
}
