package reader

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// A row that is read ahead shares no memory with the reader's, whatever columns rows come to have; a column that is
// missing stays missing, in memory that held another row as well.
func TestCopy(t *testing.T) {
	full := Row{Env: "math", odd: "x"}
	v := reflect.ValueOf(&full).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice {
			f.Set(reflect.MakeSlice(f.Type(), 3, 3))
		}
	}
	empty := Row{Roll: []float64{}}
	var to Row
	for _, from := range []*Row{&full, &empty, &full} {
		to.copy(from)
		if !reflect.DeepEqual(to, *from) {
			t.Errorf("%+v is copied as %+v", *from, to)
		}
	}
	c := reflect.ValueOf(&to).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Slice && f.Pointer() == c.Field(i).Pointer() {
			t.Errorf("%s is shared", v.Type().Field(i).Name)
		}
	}
}

// Rows come in their order, and none after an error of the visitor.
func TestOrder(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "{\"logp_rollout\":[%d],\"logp_old\":[-1]}\n", -i)
	}
	enough := errors.New("enough")
	for _, most := range []int{1, 70, 1000} {
		n := 0
		_, err := Read(Input{Name: "f", Stream: strings.NewReader(text.String())}, "", func(r *Row) error {
			if r.Roll[0] != float64(-n) || r.Line != n+1 {
				t.Fatalf("row %d: %+v", n, r)
			}
			if n++; n == most {
				return enough
			}
			return nil
		})
		if want := min(most, 200); n != want || errors.Is(err, enough) != (most < 200) {
			t.Errorf("stopped at %d: %d rows, %v", most, n, err)
		}
	}
}

// Numbers are those that strconv reads, to the last bit.
func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "-0", "7", "-12", "1.", "0.1", "-0.30000001", "9007199254740992", "9007199254740993", "0.9007199254740993", "-1.2345678901234567", "123456789012345678901", "1e-3",
		"-2.5E+2", "0.0000000000000000001", "00012.50", "1234567.0000000000000"} {
		s := newScanner(strings.NewReader(text+" "), Input{}.most())
		got, err := s.word()
		var want float64
		if _, scan := fmt.Sscan(text, &want); scan != nil {
			t.Fatal(text, scan)
		}
		if err != nil || got != want || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is read as %v, %v", text, got, err)
		}
	}
}
