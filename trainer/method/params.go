package method

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Parameters of a method are the fields of a struct, each declared once by its tags:
//
//	// DualClip bounds the loss where A < 0.
//	DualClip float64 `yaml:"dual_clip" default:"3" range:"0=none|(1,inf]"`
//	// Level is the unit of the ratio.
//	Level string `yaml:"level" default:"token" oneof:"token sequence"`
//
// yaml is the name in a recipe; default is the value of [New], zero without it;
// range and oneof are what [Check] accepts; a word without a default may be empty. A range is a list of intervals and
// numbers, with | between them; inf belongs to a closed end, NaN to none. An end may
// be the name of another field: range:"[0,high]". An array of two, whose defaults have
// a space between them, is a range itself: low is not above high, and the tag bounds both.

// New returns a parameter struct with the defaults of its tags.
func New[T any]() *T {
	params := new(T)
	SetDefaults(params)
	return params
}

// SetDefaults gives the fields of a struct, given by pointer, the defaults of their
// tags. Fields without such a tag and other values than structs stay as they are.
func SetDefaults(params any) {
	if v := reflect.ValueOf(params).Elem(); v.Kind() == reflect.Struct {
		setDefaults(v)
	}
}

// setDefaults gives every field of a struct the value of its tag, those of nested
// structs included.
func setDefaults(v reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		text, ok := field.Tag.Lookup("default")
		switch {
		case !field.IsExported():
		case ok:
			if err := setText(value, text); err != nil {
				panic(fmt.Sprintf("method: default of %s.%s: %v", v.Type(), field.Name, err))
			}
		case value.Kind() == reflect.Struct:
			setDefaults(value)
		}
	}
}

func setText(v reflect.Value, text string) (err error) {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool, reflect.Int, reflect.Uint64, reflect.Float64:
		_, err = fmt.Sscan(text, v.Addr().Interface())
	case reflect.Array:
		words := strings.Fields(text)
		if len(words) != v.Len() {
			return fmt.Errorf("%q are not %d entries", text, v.Len())
		}
		for i, word := range words {
			err = errors.Join(err, setText(v.Index(i), word))
		}
	default:
		err = fmt.Errorf("a %s has no default", v.Type())
	}
	return err
}

// validator is implemented by parameters with rules that tags cannot say: those of
// two or more fields, or of a type with a syntax of its own.
type validator interface{ Validate() error }

// Check reports everything that is wrong with a parameter struct, given by pointer
// (anything else is the caller's fault, and panics): fields outside the range or the words of their tags, then what the Validate
// methods of its fields and its own say. Each message begins with the field's name
// in a recipe.
func Check(params any) error {
	v := reflect.ValueOf(params)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("method: Check of a %T: give it a pointer to the parameter struct", params))
	}
	faults := checkFields(v.Elem(), "", true)
	if p, ok := params.(validator); ok && len(faults) == 0 {
		faults = append(faults, p.Validate())
	}
	return errors.Join(faults...)
}

// CheckTags reports the fields outside the range or the words of their tags, in a
// struct given by pointer and in the structs in it: sections of a recipe, whose
// methods are checked each by itself.
func CheckTags(section any) error {
	return errors.Join(checkFields(reflect.ValueOf(section).Elem(), "", false)...)
}

// checkFields checks the fields of a struct, by their own Validate methods too if
// validate says so. Names begin with the prefix.
func checkFields(v reflect.Value, prefix string, validate bool) (faults []error) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		switch {
		case !field.IsExported() || name == "-":
		case options == "inline":
			faults = append(faults, checkFields(v.Field(i), prefix, validate)...)
		case name != "":
			faults = append(faults, checkField(prefix+name, v.Field(i), field.Tag, v, validate)...)
		}
	}
	return slices.DeleteFunc(faults, func(err error) bool { return err == nil })
}

func checkField(name string, value reflect.Value, tag reflect.StructTag, in reflect.Value, validate bool) (faults []error) {
	if value.Kind() == reflect.Pointer && !value.IsNil() {
		value = value.Elem()
	}
	if text := tag.Get("range"); text != "" && value.Kind() != reflect.Pointer {
		faults = append(faults, checkRange(name, value, text, in))
	}
	if words := tag.Get("oneof"); words != "" && value.Kind() != reflect.Pointer {
		_, given := tag.Lookup("default")
		if known := strings.Fields(words); !slices.Contains(known, value.String()) && (given || value.Len() > 0) {
			faults = append(faults, fmt.Errorf("%s: %w", name, UnknownName(value.String(), known)))
		}
	}
	if nested, ok := value.Addr().Interface().(validator); ok && validate {
		return append(faults, nested.Validate())
	}
	switch {
	case value.Kind() == reflect.Struct:
		faults = append(faults, checkFields(value, name+".", validate)...)
	case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
		for i := range value.Len() {
			faults = append(faults, checkFields(value.Index(i), fmt.Sprintf("%s[%d].", name, i), validate)...)
		}
	}
	return faults
}

// checkRange reports a number, or entries of a list, outside the range of a tag of a
// field of the struct.
func checkRange(name string, value reflect.Value, text string, in reflect.Value) error {
	parts, err := parseRange(text, in)
	if err != nil {
		panic(fmt.Sprintf("method: range of %s: %v", name, err))
	}
	switch value.Kind() {
	case reflect.Slice:
		var faults []error
		for i := range value.Len() {
			faults = append(faults, outside(fmt.Sprintf("%s[%d] %v", name, i, value.Index(i)), toFloat(value.Index(i)), parts))
		}
		return errors.Join(faults...)
	case reflect.Array:
		name = fmt.Sprintf("%s [%v, %v]", name, value.Index(0), value.Index(1))
		low, high := toFloat(value.Index(0)), toFloat(value.Index(1))
		if !(low <= high) {
			return fmt.Errorf("%s: must be a range low <= high", name)
		}
		return cmp.Or(outside(name+": low", low, parts), outside(name+": high", high, parts))
	}
	return outside(fmt.Sprintf("%s %v", name, value), toFloat(value), parts)
}

func toFloat(v reflect.Value) float64 { return v.Convert(reflect.TypeFor[float64]()).Float() }

func outside(what string, x float64, parts []interval) error {
	var words []string
	for _, p := range parts {
		if p.has(x) {
			return nil
		}
		words = append(words, p.String())
	}
	slices.Reverse(words) // "must be above 1, or 0 for none"
	return fmt.Errorf("%s: must %s", what, strings.Join(words, ", or "))
}

// interval is one part of a range: all between two ends, or one number with its
// meaning.
type interval struct {
	low, high         float64
	openLow, openHigh bool
	meaning           string
	fields            [2]string // "low = " of an end that is a field's value
}

// parseRange reads "0=none|(1,inf]", with ends that are fields of the struct.
func parseRange(text string, in reflect.Value) ([]interval, error) {
	var list []interval
	for part := range strings.SplitSeq(text, "|") {
		var p interval
		inner, meaning, _ := strings.Cut(part, "=")
		low, high, two := strings.Cut(strings.Trim(inner, "[]()"), ",")
		if !two {
			high = low
		}
		var err1, err2 error
		p.low, p.fields[0], err1 = parseEnd(low, in)
		p.high, p.fields[1], err2 = parseEnd(high, in)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		p.openLow, p.openHigh, p.meaning = strings.HasPrefix(inner, "("), strings.HasSuffix(inner, ")"), meaning
		list = append(list, p)
	}
	return list, nil
}

// parseEnd reads a number, or takes that of a field of the struct.
func parseEnd(text string, in reflect.Value) (x float64, field string, err error) {
	if x, err = parseNumber(text); err == nil {
		return x, "", nil
	}
	for i := range in.NumField() {
		if name, _, _ := strings.Cut(in.Type().Field(i).Tag.Get("yaml"), ","); name == text {
			return toFloat(in.Field(i)), name + " = ", nil
		}
	}
	return x, "", err
}

// parseNumber reads 0.5, inf or 2^24.
func parseNumber(text string) (float64, error) {
	if power, ok := strings.CutPrefix(text, "2^"); ok {
		n, err := strconv.ParseUint(power, 10, 6)
		return float64(uint64(1) << n), err
	}
	return strconv.ParseFloat(text, 64)
}

func (p interval) has(x float64) bool {
	return (x > p.low || x == p.low && !p.openLow) && (x < p.high || x == p.high && !p.openHigh)
}

// String completes "must".
func (p interval) String() string {
	low, high := p.fields[0]+number(p.low), p.fields[1]+number(p.high)
	endless := math.IsInf(p.high, 1)
	bounds := "at least " + low
	if p.openLow {
		bounds = "above " + low
	}
	switch {
	case p.low == p.high && p.meaning != "":
		return low + " for " + p.meaning
	case p.low == p.high && p.fields == [2]string{}:
		return "be " + low
	case endless && math.IsInf(p.low, -1):
		return "be finite"
	case endless && p.openHigh:
		return "be finite and " + bounds
	case math.IsInf(p.low, -1):
		return "be at most " + high
	case endless && p.low == 0 && !p.openLow:
		return "not be negative"
	case endless:
		return "be " + bounds
	}
	open, closing := "[", "]"
	if p.openLow {
		open = "("
	}
	if p.openHigh {
		closing = ")"
	}
	return "be in " + open + low + ", " + high + closing
}

// number writes an end of an interval: 16777216, not 1.6777216e+07.
func number(x float64) string {
	if x == math.Trunc(x) {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
