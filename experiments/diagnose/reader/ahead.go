package reader

import (
	"errors"
	"fmt"
)

// ahead is how many rows may be read before they are asked for: enough to keep two cores busy, and few enough that their
// copies take little memory.
const ahead = 2

// largeRow is how many tokens make a row too large to be copied.
const largeRow = 1 << 17

// errStopped ends the reading of a file whose visitor has had enough.
var errStopped = errors.New("the visitor has stopped")

// Read reads a dump and calls visit for every complete row that counts, until it
// returns an error. A format that is not empty is taken for the file's. An error is
// visit's, or a Refused for a file that cannot be read at all.
//
// A file is read in a goroutine of its own, while visit, in the caller's, takes in the rows in
// their order; a row is valid until it returns. A row is copied to be read ahead of, unless it is so large that the
// reader waits for it.
func Read(in Input, format string, visit func(*Row) error) (f *File, err error) {
	rows, free := make(chan *Row, ahead), make(chan *Row, ahead+1)
	for range ahead + 1 {
		free <- new(Row)
	}
	stop, taken := make(chan struct{}), make(chan struct{})
	f = &File{Name: in.Name, Step: Unknown}
	go func() {
		defer close(rows)
		defer func() {
			if p := recover(); p != nil {
				err = f.panicked(p)
			}
		}()
		err = f.read(in, format, func(r *Row) error {
			var to *Row
			select {
			case to = <-free:
			case <-stop:
				return errStopped
			}
			if r.large() {
				free <- to
				rows <- r
				<-taken
				return nil
			}
			to.copy(r)
			rows <- to
			return nil
		})
	}()
	var sent error
	for r := range rows {
		if sent == nil {
			if sent = visit(r); sent != nil {
				close(stop)
			}
		}
		if r.large() {
			taken <- struct{}{}
		} else {
			free <- r
		}
	}
	if sent != nil {
		err = sent
	}
	return f, err
}

// panicked is the refusal of a file that this program fails to read.
func (f *File) panicked(p any) error {
	return &Refused{f.Name, fmt.Sprintf("a fault of this program (%v) after row %d", p, f.Rows), "please report it, with this file if you can"}
}

// large says that a row takes several megabytes.
func (r *Row) large() bool { return len(r.Mask) > largeRow || len(r.Prompt) > largeRow }

// copy makes the row another's, in memory of its own.
func (r *Row) copy(from *Row) {
	own := *r
	*r = *from
	for _, c := range numbered {
		*c.of(r) = copied(*c.of(&own), *c.of(from))
		if c.prompt != nil {
			*c.prompt(r) = copied(*c.prompt(&own), *c.prompt(from))
		}
	}
	r.Prompt, r.Token, r.Version = copied(own.Prompt, r.Prompt), copied(own.Token, r.Token), copied(own.Version, r.Version)
	r.Mask, r.Flips, r.Masked = copied(own.Mask, r.Mask), copied(own.Flips, r.Flips), copied(own.Masked, r.Masked)
	r.RouteRoll, r.RouteLearner = copied(own.RouteRoll, r.RouteRoll), copied(own.RouteLearner, r.RouteLearner)
}

// copied is a column in the memory of another; nil stays nil.
func copied[T any](own, from []T) []T {
	if from == nil {
		return nil
	}
	if own == nil {
		own = make([]T, 0, len(from))
	}
	return append(own[:0], from...)
}
