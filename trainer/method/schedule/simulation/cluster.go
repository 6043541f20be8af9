package simulation

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/schedule"
)

// Cluster is a number of devices and what is run on them. Its defaults are of a
// reasoning model of 32B.
type Cluster struct {
	// Devices is the number of all, 2 at least.
	Devices int `yaml:"-"`
	// Generate is the percentage of the devices that generate where a system keeps
	// them apart; the others train. Default 75 (AReaL; ROLL 60, verl 50).
	Generate int `yaml:"generate" default:"75" range:"[1,99]"`
	// Engine is the devices of a rollout engine. Default 8, a node.
	Engine int `yaml:"engine" default:"8" range:"[1,1024]"`
	// Slots is the number of requests served at once per device. Default 64: three
	// batches are in flight then.
	Slots int `yaml:"slots" default:"64" range:"[1,1024]"`
	// Batch is the number of prompts per update; 0 for two per device.
	Batch int `yaml:"batch" range:"[0,2^20]"`
	// Group is the responses per prompt. Default 8.
	Group int `yaml:"group" default:"8" range:"[1,1024]"`
	// Prompt is the tokens of a prompt. Default 256.
	Prompt int `yaml:"prompt" default:"256" range:"[1,2^20]"`
	// Refuse is the percentage of samples that are refused when they are done, as
	// dynamic sampling refuses groups of equal rewards (DAPO, 2503.14476). Default 0.
	Refuse int `yaml:"refuse" range:"[0,99]"`
	// Delta is the percentage of the weights that a sync moves: of costs.push and costs.sync. A sync of what has
	// changed moves 1 to 3 % (verl docs/advance/delta_weight_sync.md, which measured 1.3 to 21 times the speed).
	// Default 100.
	Delta int `yaml:"delta" default:"100" range:"[0,100]"`
	// Old is where the old log-probs come from: system, batch_start, rollout,
	// sync_start, snapshots, dedicated, interrupt, ewma, interpolated or mixture. Default system.
	Old string `yaml:"old" default:"system"`
	// Steps is the number of updates.
	Steps int            `yaml:"-"`
	Costs schedule.Costs `yaml:"-"`
}

// DefaultCluster has that many devices.
func DefaultCluster(devices int) Cluster {
	c := *method.New[Cluster]()
	c.Devices, c.Steps = devices, 20
	return c
}

// Validate checks the ranges.
func (c Cluster) Validate() error {
	const most = 1 << 14
	if c.Devices < 2 || c.Devices > most {
		return fmt.Errorf("gpus: %d is outside [2, %d]", c.Devices, most)
	}
	if _, err := schedule.LookupOld(c.Old); err != nil {
		return fmt.Errorf("cluster.old: %w", err)
	}
	return method.CheckTags(&struct {
		Cluster *Cluster `yaml:"cluster"`
	}{&c})
}

// Together is the configuration of a system that generates and trains on the same
// devices, in turns.
func (c Cluster) Together() schedule.Config {
	config := c.config(c.Devices)
	config.Trainers = c.Devices
	return config
}

// Apart is that of a system that divides the devices.
func (c Cluster) Apart() schedule.Config {
	return c.config(min(max(c.Devices*c.Generate/100, 1), c.Devices-1))
}

// For is the configuration that a policy runs in.
func (c Cluster) For(p schedule.Policy) schedule.Config {
	if p.Traits().Colocated {
		return c.Together()
	}
	return c.Apart()
}

// config makes whole engines of that many devices; the others train.
func (c Cluster) config(generate int) schedule.Config {
	batch := c.Batch
	if batch == 0 {
		batch = 2 * c.Devices
	}
	engine := min(c.Engine, generate)
	workers := generate / engine
	old, _ := schedule.LookupOld(c.Old)
	c.Costs.Push, c.Costs.Sync = c.Costs.Push*c.Delta/100, c.Costs.Sync*c.Delta/100
	return schedule.Config{
		Workers: workers, Engine: engine, Slots: c.Slots * engine, Trainers: c.Devices - workers*engine,
		Batch: batch, Group: c.Group, Prompt: c.Prompt, Steps: c.Steps, Graded: c.Refuse > 0, Old: old, Costs: c.Costs,
	}
}
