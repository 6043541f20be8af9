package simulation

import (
	"fmt"

	"driftlab/trainer/method/schedule"
)

// Cluster is a number of devices and what is run on them. Its defaults are of a
// reasoning model of 32B.
type Cluster struct {
	// Devices is the number of all, 2 at least.
	Devices int `yaml:"-"`
	// Generate is the percentage of the devices that generate where a system keeps
	// them apart; the others train. Default 75 (AReaL; ROLL 60, verl 50).
	Generate int `yaml:"generate"`
	// Engine is the devices of a rollout engine. Default 8, a node.
	Engine int `yaml:"engine"`
	// Slots is the number of requests served at once per device. Default 64: three
	// batches are in flight then.
	Slots int `yaml:"slots"`
	// Batch is the number of prompts per update; 0 for two per device.
	Batch int `yaml:"batch"`
	// Group is the responses per prompt. Default 8.
	Group int `yaml:"group"`
	// Prompt is the tokens of a prompt. Default 256.
	Prompt int `yaml:"prompt"`
	// Refuse is the percentage of samples that are refused when they are done, as
	// dynamic sampling refuses groups of equal rewards (DAPO, 2503.14476). Default 0.
	Refuse int `yaml:"refuse"`
	// Old is where the old log-probs come from: system, batch_start, rollout,
	// sync_start, snapshots, dedicated, interrupt, ewma or interpolated. Default system.
	Old string `yaml:"old"`
	// Steps is the number of updates.
	Steps int            `yaml:"-"`
	Costs schedule.Costs `yaml:"-"`
}

// DefaultCluster has that many devices.
func DefaultCluster(devices int) Cluster {
	return Cluster{Devices: devices, Generate: 75, Engine: 8, Slots: 64, Group: 8, Prompt: 256, Old: schedule.OldLogProbs[schedule.OfSystem].Name, Steps: 20, Costs: schedule.DefaultCosts()}
}

// Validate checks the ranges.
func (c Cluster) Validate() error {
	switch {
	case c.Devices < 2 || c.Devices > 1<<14:
		return fmt.Errorf("gpus: %d is outside [2, %d]", c.Devices, 1<<14)
	case c.Generate < 1 || c.Generate > 99:
		return fmt.Errorf("cluster.generate: %d is outside [1, 99]", c.Generate)
	case c.Engine < 1 || c.Engine > 1<<10:
		return fmt.Errorf("cluster.engine: %d is outside [1, %d]", c.Engine, 1<<10)
	case c.Slots < 1 || c.Slots > 1<<10:
		return fmt.Errorf("cluster.slots: %d is outside [1, %d]", c.Slots, 1<<10)
	case c.Refuse < 0 || c.Refuse > 99:
		return fmt.Errorf("cluster.refuse: %d is outside [0, 99]", c.Refuse)
	case c.Batch < 0:
		return fmt.Errorf("cluster.batch: %d is below 0", c.Batch)
	}
	if _, err := schedule.LookupOld(c.Old); err != nil {
		return fmt.Errorf("cluster.old: %w", err)
	}
	return nil
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
	if s, ok := p.(schedule.System); ok && s.Traits().Colocated {
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
	return schedule.Config{
		Workers: workers, Engine: engine, Slots: c.Slots * engine, Trainers: c.Devices - workers*engine,
		Batch: batch, Group: c.Group, Prompt: c.Prompt, Steps: c.Steps, Graded: c.Refuse > 0, Old: old, Costs: c.Costs,
	}
}
