package moe

import "fmt"

// Routes records which experts tokens visited: flat, [token][layer][rank], one
// byte each. It is the form in which batches carry them from one engine to the
// other.
type Routes struct {
	// Layers and TopK are the shape of one token.
	Layers, TopK int
	// IDs holds Layers*TopK expert ids per token, NoRoute where none was recorded.
	IDs []uint8
}

// Tokens is the number of tokens recorded.
func (r *Routes) Tokens() int {
	if r.Layers*r.TopK == 0 {
		return 0
	}
	return len(r.IDs) / (r.Layers * r.TopK)
}

// Resize makes room for a number of tokens and marks them all NoRoute, reusing
// memory where it suffices.
func (r *Routes) Resize(tokens int) {
	n := tokens * r.Layers * r.TopK
	if cap(r.IDs) < n {
		r.IDs = make([]uint8, n)
	}
	r.IDs = r.IDs[:n]
	for i := range r.IDs {
		r.IDs[i] = NoRoute
	}
}

// At is the view of the ids of one token in one layer, [TopK].
func (r *Routes) At(token, layer int) []uint8 {
	from := (token*r.Layers + layer) * r.TopK
	return r.IDs[from : from+r.TopK : from+r.TopK]
}

// Record stores the ids of consecutive tokens in one layer, [tokens, TopK],
// from token first on.
func (r *Routes) Record(layer, first int, ids []uint8) {
	for i := 0; i*r.TopK < len(ids); i++ {
		copy(r.At(first+i, layer), ids[i*r.TopK:(i+1)*r.TopK])
	}
}

// Read is the inverse of Record: it fills ids, [tokens, TopK].
func (r *Routes) Read(ids []uint8, layer, first int) {
	for i := 0; i*r.TopK < len(ids); i++ {
		copy(ids[i*r.TopK:(i+1)*r.TopK], r.At(first+i, layer))
	}
}

// Validate checks routes from outside: whole tokens, ids below experts or
// NoRoute for all ranks at once, no expert twice in one choice.
func (r *Routes) Validate(experts int) error {
	if r.Layers < 1 || r.TopK < 1 || len(r.IDs)%(r.Layers*r.TopK) != 0 {
		return fmt.Errorf("routes: %d ids are not whole tokens of %d layers, top %d", len(r.IDs), r.Layers, r.TopK)
	}
	for token := range r.Tokens() {
		for layer := range r.Layers {
			if err := validChoice(r.At(token, layer), experts); err != nil {
				return fmt.Errorf("routes: token %d, layer %d: %w", token, layer, err)
			}
		}
	}
	return nil
}

func validChoice(ids []uint8, experts int) error {
	var seen [MaxExperts + 1]bool
	for _, id := range ids {
		switch {
		case (id == NoRoute) != (ids[0] == NoRoute):
			return fmt.Errorf("only some of the experts %v are recorded", ids)
		case id == NoRoute:
		case int(id) >= experts:
			return fmt.Errorf("expert %d, there are %d", id, experts)
		case seen[id]:
			return fmt.Errorf("expert %d twice", id)
		}
		seen[id] = true
	}
	return nil
}

// Load counts how often each expert was visited: [Layers, experts], overwritten.
func (r *Routes) Load(counts []int, experts int) {
	if len(counts) != r.Layers*experts {
		panic(fmt.Sprintf("moe: Load into %d counts, want [%d, %d]", len(counts), r.Layers, experts))
	}
	clear(counts)
	for i, id := range r.IDs {
		if id != NoRoute {
			counts[i/r.TopK%r.Layers*experts+int(id)]++
		}
	}
}
