package golden

import (
	_ "embed"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"driftlab/trainer/method/loss"
)

// lossesText has the losses of the peers by the parameters of their functions. Its first lines say how it is read.
//
//go:embed testdata/losses.txt
var lossesText string

// peerLosses are the words of each line of lossesText by its first one.
var peerLosses = readLosses(lossesText)

func readLosses(text string) map[string][]string {
	lines := map[string][]string{}
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); words[0] != "#" {
			lines[words[0]] = words[1:]
		}
	}
	return lines
}

// peerLoss is the loss of a line with the parameters of a case.
func peerLoss(name string, p Values, agg loss.Aggregation) loss.Loss {
	words := peerLosses[name]
	if words == nil {
		panic("golden: no loss " + name)
	}
	e, err := loss.Registry.Lookup(words[0])
	if err != nil {
		panic("golden: " + err.Error())
	}
	l := e.New()
	fields := map[string]reflect.Value{}
	for f, v := range reflect.ValueOf(l).Elem().Fields() {
		if f.IsExported() {
			fields[f.Tag.Get("yaml")] = v
			v.SetZero()
		}
	}
	if v, ok := fields["aggregation"]; ok {
		v.Set(reflect.ValueOf(agg))
	}
	for _, word := range words[1:] {
		field, value, _ := strings.Cut(word, "=")
		setField(fields[field], p, value)
	}
	return l
}

// setField gives a field the first of the alternatives that the case has.
func setField(v reflect.Value, p Values, alternatives string) {
	for value := range strings.SplitSeq(alternatives, "|") {
		sign, offset := 1.0, 0.0
		name, given := strings.CutPrefix(value, "$")
		switch {
		case strings.HasPrefix(value, "1-$"):
			sign, offset, name, given = -1, 1, value[3:], true
		case strings.HasPrefix(value, "1+$"):
			offset, name, given = 1, value[3:], true
		case given && strings.HasSuffix(value, "-1"):
			offset, name = -1, strings.TrimSuffix(name, "-1")
		}
		from := p
		if section, inner, nested := strings.Cut(name, "."); given && nested {
			from, name = p.Sub(section), inner
		}
		if given && !from.Has(name) && v.Kind() != reflect.Bool {
			continue
		}
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(value == "true" || given && from.Bool(name))
		case reflect.String:
			if given {
				name = from.String(name)
			}
			v.SetString(name)
		default:
			x, err := strconv.ParseFloat(name, 64)
			if given {
				x, err = offset+sign*from.Float(name), nil
			}
			if err != nil {
				panic("golden: " + err.Error())
			}
			v.SetFloat(x)
		}
		return
	}
	panic(fmt.Sprintf("golden: the case has none of %s", alternatives))
}
