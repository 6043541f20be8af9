package column

// Extent says how many entries a column has.
type Extent int

// The extents.
const (
	PerResponse Extent = iota
	PerToken
	PerRoute  // Layers*TopK per token
	PerEntry  // Vocab per token
	PerKVWord // KVPlanes*KVWords per token
)

// width is the number of entries per token.
func (e Extent) width(s *Sampled) int {
	switch e {
	case PerRoute:
		return s.Layers * s.TopK
	case PerEntry:
		return s.Vocab
	case PerKVWord:
		return s.KVPlanes * s.KVWords
	}
	return 1
}

// rows is the number of responses or of tokens, whichever the column goes by.
func (e Extent) rows(responses, tokens int) int {
	if e == PerResponse {
		return responses
	}
	return tokens
}

// Entries is the length of the column in a batch.
func (e Extent) Entries(s *Sampled) int { return e.width(s) * e.rows(s.Len(), s.Tokens()) }

// column is one column of a holder H, whatever its type.
type column[H any] struct {
	choose func(dst, src *H, in *Sampled, rows []int)
	join   func(dst *H, parts []*H)
	full   func(src *H, in *Sampled) bool // has all entries, or is nil
	write  func(dst []byte, src *H) []byte
	read   func(dst *H, r *reader)
	// What a column does while its responses grow: see Clear, Reserve, Extend and Alike.
	clear   func(h *H)
	reserve func(dst, like *H, in *Sampled, tokens int, empty bool)
	extend  func(dst *H, in *Sampled, tokens int)
	alike   func(a, b *H) bool
}

func of[H, T any](e Extent, at func(*H) *[]T) column[H] {
	return column[H]{
		choose: func(dst, src *H, in *Sampled, rows []int) { *at(dst) = Gather(*at(dst), *at(src), e, in, rows) },
		join:   func(dst *H, parts []*H) { *at(dst) = joined(*at(dst), parts, at) },
		full:   func(src *H, in *Sampled) bool { return *at(src) == nil || len(*at(src)) == e.Entries(in) },
		write:  func(dst []byte, src *H) []byte { return appendSlice(dst, *at(src)) },
		read:   func(dst *H, r *reader) { *at(dst) = readSlice[T](r) },

		clear: func(h *H) { *at(h) = withCapacity((*at(h))[:0], 0) },
		reserve: func(dst, like *H, in *Sampled, tokens int, empty bool) {
			x := at(dst)
			switch {
			case *at(like) == nil:
				*x = nil
				return
			case empty:
				*x = (*x)[:0]
			}
			*x = withCapacity(*x, e.rows(1, tokens)*e.width(in))
		},
		extend: func(dst *H, in *Sampled, tokens int) {
			if *at(dst) != nil {
				*at(dst) = append(*at(dst), make([]T, e.rows(0, tokens)*e.width(in))...)
			}
		},
		alike: func(a, b *H) bool { return (*at(a) == nil) == (*at(b) == nil) },
	}
}

func choose[H any](columns []column[H], dst, src *H, in *Sampled, rows []int) {
	for _, c := range columns {
		c.choose(dst, src, in, rows)
	}
}

// Gather copies the rows of a column, in dst's memory. One that does not have all its
// entries, nil above all, has not been recorded.
func Gather[T any](dst, src []T, e Extent, in *Sampled, rows []int) []T {
	if src == nil {
		return nil
	}
	dst = dst[:0]
	if e == PerResponse {
		for _, i := range rows {
			dst = append(dst, src[i])
		}
		return dst
	}
	width := e.width(in)
	if len(src) != e.Entries(in) {
		return nil
	}
	for _, i := range rows {
		from, to := in.Span(i)
		dst = append(dst, src[from*width:to*width]...)
	}
	return dst
}

// joined is the column of all parts end to end, nil unless all have it.
func joined[H, T any](dst []T, parts []*H, at func(*H) *[]T) []T {
	dst = dst[:0]
	for _, part := range parts {
		if *at(part) == nil {
			return nil
		}
		dst = append(dst, *at(part)...)
	}
	return dst
}

func withCapacity[T any](x []T, n int) []T {
	if x != nil && cap(x) >= n {
		return x
	}
	return append(make([]T, 0, n), x...)
}

// Resized returns a column of n entries, in x's memory where it suffices. The contents are
// unspecified.
func Resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}

// Zeroed is Resized with zeroes: what a stage fills, batch after batch, without allocating.
func Zeroed[T any](x []T, n int) []T {
	x = Resized(x, n)
	clear(x)
	return x
}
