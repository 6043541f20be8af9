package schedule

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"driftlab/precision/must"
)

// withTools gives a desk's responses calls of tools, after some of their tokens, with
// replies of some length.
func withTools(d *desk, seed uint64) *desk {
	d.calls = func(origin, response int) (at []int) {
		r := rand.New(rand.NewPCG(seed+1, uint64(origin)<<20+uint64(response)))
		for n := 1 + r.IntN(6); n < d.length(origin, response); n += 1 + r.IntN(9) {
			at = append(at, n)
		}
		return at
	}
	return d
}

// tools gives a cluster costs of tools.
func tools(r *rand.Rand, config Config) Config {
	config.Costs.ToolCall, config.Costs.ToolToken = r.IntN(200), r.IntN(4)
	return config
}

// A tool that costs nothing changes nothing: the commands equal those for responses
// without any, whoever calls.
func TestToolsThatCostNothing(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(10) {
			r := rand.New(rand.NewPCG(seed, 11))
			config, policy := random(r), e.New()
			vary(r, policy)
			for _, known := range []bool{true, false} {
				want, got := newDesk(t, config, policy, drawn(seed, 20)), withTools(newDesk(t, config, policy, drawn(seed, 20)), seed)
				want.known, got.known = known, known
				if want.run(); !reflect.DeepEqual(want.commands, got.run().commands) || !reflect.DeepEqual(want.core.log, got.core.log) {
					t.Fatalf("%s, seed %d: another run", e.Name, seed)
				}
			}
		}
	}
}

// With tools every policy keeps what it promises; what is known of lengths and calls
// beforehand changes nothing; each call waits its time, and a run that is killed goes
// on to the same bytes.
func TestToolsKeepPromises(t *testing.T) {
	for _, e := range Systems {
		for seed := range fewSeeds(20) {
			r := rand.New(rand.NewPCG(seed, 12))
			config, policy := tools(r, random(r)), e.New()
			config.Graded = seed%2 == 0
			vary(r, policy)
			d := withTools(newDesk(t, config, policy, drawn(seed, 20)), seed)
			d.check = sometimes(t)
			d.run()
			promised(t, d, seed)
			n := d.core.counts
			if config.Costs.tools() && n.Calls == 0 || n.WaitedTicks > 0 && config.Costs.ToolCall == 0 && n.WaitedTicks > 1000*n.Calls {
				t.Fatalf("%s, seed %d: %+v", e.Name, seed, n)
			}
			unknown := withTools(newDesk(t, config, policy, drawn(seed, 20)), seed)
			unknown.known = false
			unknown.run()
			if logText(d.core) != logText(unknown.core) || !reflect.DeepEqual(n, unknown.core.counts) || d.core.Use() != unknown.core.Use() {
				t.Fatalf("%s, seed %d: %+v and %+v\n%s\n%s", e.Name, seed, n, unknown.core.counts, logText(d.core), logText(unknown.core))
			}
			again := withTools(newDesk(t, config, policy, drawn(seed, 20)), seed)
			for range len(d.commands) / 2 {
				again.step()
			}
			taken := withTools(newDesk(t, config, policy, drawn(seed, 20)), seed)
			must.Do(t, taken.core.SetState(again.core.AppendState(nil)))
			taken.total, taken.at = again.total, again.at
			if string(taken.run().core.AppendState(nil)) != string(d.core.AppendState(nil)) {
				t.Fatalf("%s, seed %d: killed in the middle, another end", e.Name, seed)
			}
		}
	}
}

// By hand: a worker of two slots, one response of which calls after its second token.
// The other decodes on, faster; then the worker waits; then it reads the reply.
func TestToolOnTheTimeline(t *testing.T) {
	config := tiny()
	config.Workers, config.Slots, config.Batch, config.Group, config.Steps, config.Prompt = 1, 2, 1, 2, 1, 3
	config.Costs.ToolCall, config.Costs.ToolToken = 100, 5
	d := newDesk(t, config, &Sync{}, func(_, response int) int { return []int{4, 3}[response] })
	d.calls = func(_, response int) []int { return [][]int{{2}, nil}[response] }
	d.reply = 7
	d.run()
	// Two prompts of 3 tokens take 8; two steps of both 24; one of one 11; the tool has
	// answered at 132; 7 tokens take 35; two more steps 22.
	want := "worker 0 | 0-8 prefill v0 | 8-43 generate v0 | 43-132 call v0 | 132-167 prefill v0 | 167-189 generate v0"
	if got := logText(d.core); !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if n := d.core.counts; n.Calls != 1 || n.ToolTokens != 7 || n.WaitedTicks != 100 || n.DecodedTokens != 7 {
		t.Errorf("%+v", n)
	}
	waits := 0
	for _, c := range d.commands {
		if c.Kind == Decode && slices.Equal(c.Requests, []int{0}) {
			waits++
		}
	}
	if waits != 1 {
		t.Errorf("%d decodes leave the caller out", waits)
	}
	if got, want := d.core.Use(), added(d.core); got != want && got.End != want.End {
		t.Errorf("%+v, added up %+v", got, want)
	}
}

// Who is said to call where it does not decode is an error.
func TestWrongCalls(t *testing.T) {
	config := tiny()
	config.Costs.ToolCall = 10
	for _, wrong := range []ToolCall{{Request: 99}, {Request: 0, Tokens: -1}} {
		d := newDesk(t, config, &Sync{}, drawn(1, 9))
		d.known = false
		for d.core.Next().Kind != Decode || d.core.Next().Worker != 0 {
			d.step()
		}
		if d.core.Done(Outcome{Called: []ToolCall{wrong}}) == nil {
			t.Errorf("%+v was taken", wrong)
		}
	}
}
