package reader

import (
	"fmt"
	"slices"
)

// part is what the objects of a cell hold under a key, one behind the other: the entries of object i end at ends[i].
type part struct {
	name string
	cell
	ends []int
}

// entries are how many the part has of all objects.
func (p *part) entries() int { return len(p.number) + len(p.text) }

// part reads an object into the parts of a cell.
func (s *scanner) part(c *cell, depth int) error {
	if s.stored += len(c.parts); s.stored > s.most.numbers {
		return fmt.Errorf("a row of more than %d numbers: raise --max-memory", s.most.numbers)
	}
	err := s.object(func(name []byte) error {
		i := slices.IndexFunc(c.parts, func(p part) bool { return p.name == string(name) })
		if i < 0 || s.peek() == 'n' { // null
			return s.value(nil, depth+1)
		}
		p, from := &c.parts[i], 0
		if n := len(p.ends); n > 0 {
			from = p.ends[n-1]
		}
		p.number, p.text = p.number[:min(from, len(p.number))], p.text[:min(from, len(p.text))] // a key that comes twice counts once
		if err := s.value(&p.cell, depth+1); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		return nil
	})
	c.objects++
	for i := range c.parts {
		c.parts[i].ends = append(c.parts[i].ends, c.parts[i].entries())
	}
	return err
}

// part is that of a key of a cell of objects.
func (o *record) part(name, key string) *part {
	c := o.at(name)
	return &c.parts[slices.IndexFunc(c.parts, func(p part) bool { return p.name == key })]
}

// numbers are those of an object, nil if it has none.
func (p *part) numbers(object int) []float64 {
	from := 0
	if object > 0 {
		from = p.ends[object-1]
	}
	if object >= len(p.ends) || from == p.ends[object] {
		return nil
	}
	return p.number[from:p.ends[object]]
}

// first is the first number of an object, NaN if it has none.
func (p *part) first(object int) float64 {
	if x := p.numbers(object); len(x) > 0 {
		return x[0]
	}
	return nan
}

// count is the first number of an object as a whole one, Unknown if it is none.
func (p *part) count(object int) int { return wholeOf(p.first(object)) }

// word is the first text of an object, empty if it has none.
func (p *part) word(object int) string {
	from := 0
	if object > 0 {
		from = p.ends[object-1]
	}
	if object >= len(p.ends) || from == p.ends[object] {
		return ""
	}
	return p.text[from]
}
