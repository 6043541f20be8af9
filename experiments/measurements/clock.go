package measurements

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"driftlab/experiments/study/claims/claim"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/schedule/simulation"
)

// virtualClock has systems on the virtual clock, and what is recorded of their runs.
type virtualClock struct {
	// Devices and Updates are the numbers at the full, the quick and the tiny size.
	Devices, Updates []int
	// Seeds is added to the replication's seed.
	Seeds   uint64
	Figures []clockFigure
}

// clockFigure lists quantities of runs. A run is a line as simulate schedule takes it, such as
// "areal eta=4 cluster.generate=50". In addition it may say the problem: lengths=NAME, lengths.median, lengths.sigma,
// lengths.correlation, devices=FULL/QUICK/TINY, and generation=PERCENT, the share of the reference's step that generation
// takes, by which the learner's cost is set; and "apart", which divides the devices of any system.
type clockFigure struct {
	Figure string
	Is, Of []string
	// Settings are the settings of every run and of its reference.
	Settings string
	// Over is the reference of a ratio: a system that runs the same problem.
	Over string
}

// clockRun is a run with the reference that it is compared with.
type clockRun struct {
	*simulation.Run
	// free is the closed form of a queue that drops; beyond counts AReaL's admissions beyond its own count.
	free   simulation.FreeRunning
	beyond int
	over   *clockRun
}

// clockQuantities are what can be recorded of a run.
var clockQuantities = map[string]func(r *clockRun) float64{
	"tokens per second": func(r *clockRun) float64 { return simulation.FiguresOf(r.Run).Throughput },
	"speed-up": func(r *clockRun) float64 {
		return simulation.FiguresOf(r.Run).Throughput / simulation.FiguresOf(r.over.Run).Throughput
	},
	"gain of time":        func(r *clockRun) float64 { return float64(r.over.Makespan) / float64(r.Makespan) },
	"seconds of rollouts": func(r *clockRun) float64 { return simulation.FiguresOf(r.Run).RolloutSeconds },
	"seconds of the last tenth": func(r *clockRun) (tail float64) {
		// From the end of 90 % of a batch's responses to that of the last, summed over the updates.
		ends, batch := r.Ends, r.Config.Batch*r.Config.Group
		for range r.Updates {
			tail += float64(ends[batch-1]-ends[batch*9/10-1]) / 1e6
			ends = ends[batch:]
		}
		return tail
	},
	"mean staleness":              func(r *clockRun) float64 { return simulation.FiguresOf(r.Run).LagMean },
	"largest staleness":           func(r *clockRun) float64 { return float64(simulation.FiguresOf(r.Run).LagMax) },
	"predicted staleness":         func(r *clockRun) float64 { return r.free.MeanAge() },
	"busy share of the trainer":   func(r *clockRun) float64 { return r.free.Utilisation },
	"admissions beyond the count": func(r *clockRun) float64 { return float64(r.beyond) },
	"predicted staleness, other slots": func(r *clockRun) float64 {
		other := r.free
		other.SingleSlots = !other.SingleSlots
		return other.MeanAge()
	},
}

// Measure runs the systems and records the figures.
func (p *virtualClock) Measure(e *claim.Env, o *claim.Observation) {
	made := map[string]*clockRun{}
	for _, f := range p.Figures {
		for _, line := range f.Of {
			e.Continue()
			r := p.run(e, made, f, line)
			for _, name := range f.Is {
				of, ok := clockQuantities[name]
				if !ok {
					claim.StopOn(fmt.Errorf("figure %q: no quantity %q", f.Figure, name))
				}
				o.Append(f.Figure, of(r))
			}
		}
	}
}

// run makes a run of a figure, and that of its reference: the same problem, with the settings of the figure.
func (p *virtualClock) run(e *claim.Env, made map[string]*clockRun, f clockFigure, line string) *clockRun {
	settings, own, over := strings.Fields(f.Settings), strings.Fields(line), strings.Fields(f.Over)
	words := slices.Concat(own[:1], settings, own[1:])
	if len(over) == 0 {
		return p.simulated(e, made, words)
	}
	over = slices.Concat(over[:1], settings, over[1:])
	share := 0
	for _, w := range own[1:] {
		if percent, ok := strings.CutPrefix(w, "generation="); ok {
			share = claim.Must(strconv.Atoi(percent))
		} else if strings.HasPrefix(w, "lengths") || strings.HasPrefix(w, "devices=") {
			over = append(over, w)
		}
	}
	reference := p.simulated(e, made, over)
	if share > 0 {
		learn := fmt.Sprintf("costs.learn_token=%d", reference.learnCost(float64(share)/100))
		words = append(words, learn)
		reference = p.simulated(e, made, append(over, learn))
	}
	compared := *p.simulated(e, made, words)
	compared.over = reference
	return &compared
}

// learnCost is the learner's cost per token at which generation takes that share of a step.
func (r *clockRun) learnCost(share float64) int {
	training := 0
	for _, s := range r.Log {
		if s.Activity == schedule.Training {
			training += s.To - s.From
		}
	}
	generation := simulation.FiguresOf(r.Run).RolloutSeconds * 1e6
	return int(math.Round(float64(r.Config.Costs.LearnToken) * generation * (1 - share) / share / float64(training)))
}

// audited is AReaL's rule, with the number of times that the count was beyond it.
type audited struct {
	schedule.AReaL
	beyond int
}

// Admit looks at the count before it asks the rule.
func (a *audited) Admit(v schedule.View) int {
	if v.Accepted+v.Running > (a.Eta+v.Version+1)*v.Batch {
		a.beyond++
	}
	return a.AReaL.Admit(v)
}

// simulated makes the run of a system with its settings, once for each.
func (p *virtualClock) simulated(e *claim.Env, made map[string]*clockRun, words []string) *clockRun {
	key := strings.Join(words, " ")
	if made[key] != nil {
		return made[key]
	}
	system := claim.Must(schedule.Systems.Lookup(words[0]))
	policy, cluster := system.New(), simulation.DefaultCluster(e.Pick(p.Devices[0], p.Devices[1], p.Devices[2]))
	cluster.Steps = e.Pick(p.Updates[0], p.Updates[1], p.Updates[2])
	var err error
	law := claim.Must(simulation.LookupLaw("reasoning"))
	apart := false
	for _, w := range words[1:] {
		switch key, text, _ := strings.Cut(w, "="); key {
		case "apart":
			apart = true
		case "lengths":
			law, err = simulation.LookupLaw(text)
		case "lengths.median":
			law.Median, err = strconv.Atoi(text)
		case "lengths.sigma":
			law.Sigma, err = strconv.Atoi(text)
		case "lengths.correlation":
			law.Correlation, err = strconv.Atoi(text)
		case "devices":
			var full, quick, tiny int
			_, err = fmt.Sscanf(text, "%d/%d/%d", &full, &quick, &tiny)
			cluster.Devices = e.Pick(full, quick, tiny)
		case "generation": // of the reference, see run
		default:
			err = simulation.Assign(policy, &cluster, w)
		}
		if err != nil {
			claim.StopOn(fmt.Errorf("%s: %w", key, err))
		}
	}
	config := cluster.For(policy)
	if apart {
		config = cluster.Apart()
	}
	count := new(audited)
	if rule, ok := policy.(*schedule.AReaL); ok {
		count.AReaL = *rule
		policy = count
	}
	run := claim.Must(simulation.Simulate(config, policy, law, e.Seed+p.Seeds))
	if run.Stuck {
		claim.StopOn(fmt.Errorf("%T stopped short", policy))
	}
	r := &clockRun{Run: run, beyond: count.beyond}
	if queue, ok := policy.(*schedule.QueueDrop); ok {
		r.free = simulation.FreeRunning{
			Concurrency: float64(config.Workers * config.Slots), Batch: float64(config.Batch * config.Group), SingleSlots: queue.SingleSlots,
			Tail: law.Tail(e.Seed+p.Seeds, config.Group, 2000), Utilisation: 1 - run.Use.IdleTrainer, Queue: float64(queue.Queue),
		}
	}
	made[key] = r
	return r
}
