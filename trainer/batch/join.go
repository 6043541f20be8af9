package batch

import "reflect"

// Join puts batches one behind another into dst, keeping its memory: every column
// that all of them have, and none that only some have. Columns that no batch has
// are left alone in dst. Shapes are those of the first.
func Join(dst *Batch, parts []Batch) {
	to := reflect.ValueOf(dst).Elem()
	for i := range to.NumField() {
		column := to.Field(i)
		if column.Kind() != reflect.Slice {
			column.Set(reflect.ValueOf(&parts[0]).Elem().Field(i))
			continue
		}
		joined, some, all := column.Slice(0, 0), false, true
		for p := range parts {
			part := reflect.ValueOf(&parts[p]).Elem().Field(i)
			some = some || part.Len() > 0
			// A batch without responses has recorded nothing, and lacks nothing.
			all = all && (!part.IsNil() || parts[p].Len() == 0)
			joined = reflect.AppendSlice(joined, part)
		}
		switch {
		case some && all:
			column.Set(joined)
		case some:
			column.SetZero()
		}
	}
	dst.Offsets = append(dst.Offsets[:0], 0)
	for p := range parts {
		for i := range parts[p].Len() {
			from, end := parts[p].Span(i)
			dst.Offsets = append(dst.Offsets, dst.Offsets[len(dst.Offsets)-1]+end-from)
		}
	}
}
