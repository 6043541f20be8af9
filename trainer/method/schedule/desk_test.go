package schedule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// desk answers commands out of a distribution of lengths, and keeps what was commanded.
type desk struct {
	t        *testing.T
	core     *Core
	length   func(origin, response int) int
	calls    func(origin, response int) []int // of tools, nil for none
	reply    int                              // tokens, 0 for some
	at       map[int][]int
	refuse   func(sample int) bool // every third, unless a test says otherwise
	known    bool                  // it tells the lengths beforehand
	total    map[int]int
	commands []Command
	check    func(*Core)
}

func newDesk(t *testing.T, config Config, policy Policy, length func(origin, response int) int) *desk {
	t.Helper()
	core := must.Get(New(config, policy))(t)
	third := func(sample int) bool { return sample%3 == 1 }
	return &desk{t: t, core: core, length: length, refuse: third, known: true, total: map[int]int{}, at: map[int][]int{}}
}

// answer is what comes of a command.
func (d *desk) answer(c Command) Outcome {
	var o Outcome
	switch c.Kind {
	case Start:
		for i, r := range c.Requests {
			n := d.length(c.Origins[i], r%d.core.width)
			d.total[r] = n
			if d.known {
				o.Lengths = append(o.Lengths, n)
			}
			if d.calls != nil {
				d.at[r] = d.calls(c.Origins[i], r%d.core.width)
				if d.known {
					o.Calls = append(o.Calls, d.at[r])
				}
			}
		}
	case Decode:
		w := d.core.workers[c.Worker]
		for _, r := range w.Active {
			if slices.Contains(c.Requests, r.ID) {
				continue
			}
			if r.Made+c.Steps == d.total[r.ID] {
				o.Finished = append(o.Finished, r.ID)
			} else if slices.Contains(d.at[r.ID], r.Made+c.Steps) {
				tokens := d.reply
				if tokens == 0 {
					tokens = r.ID % 5
				}
				o.Called = append(o.Called, ToolCall{r.ID, tokens})
			}
			if r.Made+c.Steps > d.total[r.ID] {
				d.t.Fatalf("request %d decodes beyond its end", r.ID)
			}
		}
	case Grade:
		for _, id := range c.Samples {
			o.Worth = append(o.Worth, Worth(float64(id%5)/4))
			if d.refuse(id) {
				o.Refused = append(o.Refused, id)
			}
		}
	}
	return o
}

// step carries one command out; it reports false at the end.
func (d *desk) step() bool {
	c := d.core.Next()
	d.commands = append(d.commands, c)
	if c.Kind == Stop {
		return false
	}
	if err := d.core.Done(d.answer(c)); err != nil {
		d.t.Fatal(err)
	}
	if d.check != nil {
		d.check(d.core)
	}
	return true
}

// run goes on to the end.
func (d *desk) run() *desk {
	for d.step() {
		if len(d.commands) > 2_000_000 {
			d.t.Fatalf("%T does not come to an end", d.core.policy)
		}
	}
	return d
}

// drawn is a distribution of uneven lengths that depends on nothing but the seed.
func drawn(seed uint64, most int) func(origin, response int) int {
	return func(origin, response int) int {
		r := rand.New(rand.NewPCG(seed, uint64(origin)<<20+uint64(response)))
		n := 1 + r.IntN(most)
		if r.IntN(8) == 0 {
			n = min(n*8, 8*most)
		}
		return n
	}
}

// script is a run as text.
func script(commands []Command) string {
	var b strings.Builder
	for _, c := range commands {
		b.WriteString(commandText(c))
		b.WriteByte('\n')
	}
	return b.String()
}

var kinds = [...]string{"start", "decode", "load", "evict", "grade", "train", "publish", "stop"}
var caches = [...]string{"reprefill", "keep stale", "restart"}
var olds = [...]string{"system", "batch start", "rollout", "sync start", "by version", "dedicated", "at interrupt", "moving average", "interpolated"}

func commandText(c Command) string {
	head := fmt.Sprintf("%6d %-7s", c.Time, kinds[c.Kind])
	switch c.Kind {
	case Start:
		head += fmt.Sprintf(" worker %d, v%d: requests %v", c.Worker, c.Version, c.Requests)
	case Decode:
		head += fmt.Sprintf(" worker %d, v%d: %d steps", c.Worker, c.Version, c.Steps)
	case Load:
		head += fmt.Sprintf(" worker %d: v%d, %s", c.Worker, c.Version, caches[c.Cache])
	case Evict:
		head += fmt.Sprintf(" worker %d: requests %v, %s", c.Worker, c.Requests, caches[c.Cache])
	case Train:
		head += fmt.Sprintf(" samples %v at v%d, old: %s", c.Samples, c.Version, olds[c.Old])
		if len(c.Replayed) > 0 {
			head += fmt.Sprintf(", again: %v", c.Replayed)
		}
		if !c.Update {
			head += ", no update"
		}
	case Grade:
		head += fmt.Sprintf(" samples %v", c.Samples)
	case Publish:
		head += fmt.Sprintf(" v%d, oldest v%d", c.Version, c.Oldest)
	case Stop:
		if c.Stuck {
			head += " (stuck)"
		}
	}
	return head
}
