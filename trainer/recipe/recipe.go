package recipe

import (
	"cmp"

	"driftlab/engine"
	"driftlab/model"
	"driftlab/precision"
	"driftlab/trainer/method"
	"driftlab/trainer/method/advantage"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/method/reward"
	"driftlab/trainer/method/schedule"
	"driftlab/trainer/method/task"
)

// Recipe is the whole definition of a run. Same recipe, same seed: same bits,
// on any number of cores. Recipes come from Parse, Load or Default; the zero
// value is not one. What each field means, of the sections too, stands in fields.txt.
type Recipe struct {
	Name               string                      `yaml:"name"`
	Seed               uint64                      `yaml:"seed" default:"1"`
	Steps              int                         `yaml:"steps" default:"200" range:"[1,2^24]"`
	MaxGeneratedTokens int                         `yaml:"max_generated_tokens" range:"[0,2147483647]"`
	Checkpoint         string                      `yaml:"checkpoint"`
	Teacher            string                      `yaml:"teacher"`
	Distillation       *Distillation               `yaml:"distillation"`
	Model              model.Config                `yaml:"model"`
	InvariantScale     float64                     `yaml:"invariant_scale" default:"1" range:"(0,100]"`
	LoRA               *LoRA                       `yaml:"lora"`
	Task               Choice[task.Task]           `yaml:"task" default:"chain"`
	Rollout            Rollout                     `yaml:"rollout"`
	Learner            Learner                     `yaml:"learner"`
	Schedule           Choice[schedule.Policy]     `yaml:"schedule" default:"sync"`
	Cluster            *Cluster                    `yaml:"cluster"`
	Replay             *schedule.Replay            `yaml:"replay"`
	Routing            Routing                     `yaml:"routing"`
	Support            Support                     `yaml:"support"`
	Anchor             *AnchorPolicy               `yaml:"anchor" oneof:"old behaviour rollout ewma sync_start interpolated mixture"`
	AnchorDecay        *float64                    `yaml:"anchor_decay" range:"[0,1)"`
	Retention          *Retention                  `yaml:"retention"`
	Reward             Reward                      `yaml:"reward"`
	PrefixValues       *PrefixValues               `yaml:"prefix_values"`
	Advantage          Choice[advantage.Estimator] `yaml:"advantage" default:"grpo"`
	Critic             *Critic                     `yaml:"critic"`
	Correction         Correction                  `yaml:"correction"`
	Loss               Choice[loss.Loss]           `yaml:"loss" default:"ppo_clip"`
	Terms              []Choice[loss.Term]         `yaml:"terms"`
	KL                 Choice[loss.KL]             `yaml:"kl" default:"none"`
	Guards             []Choice[Guard]             `yaml:"guards"`
	Eval               Eval                        `yaml:"eval"`
	Pretrain           *Pretrain                   `yaml:"pretrain"`
}

// ReplaysRetention reports whether retention masks are replayed.
func (r Recipe) ReplaysRetention() bool { return r.Retention != nil && r.Retention.Replay }

// Learner is the engine that computes gradients, and its optimiser.
type Learner struct {
	Numerics    engine.Numerics `yaml:"numerics"`
	Temperature float64         `yaml:"temperature" range:"0=that of the rollout|[1e-6,100]"`
	Epochs      int             `yaml:"epochs" default:"1" range:"[1,2^16]"`
	Minibatches int             `yaml:"minibatches" default:"1" range:"[1,2^16]"`
	Optimizer   Optimizer       `yaml:"optimizer"`
	LossScale   LossScale       `yaml:"loss_scale"`
}

// LearnerTemperature is the temperature at which the learner's policies are taken.
func (r Recipe) LearnerTemperature() float64 {
	return cmp.Or(r.Learner.Temperature, r.Rollout.Temperature)
}

// Updates is the number of optimiser updates per step.
func (l Learner) Updates() int { return l.Epochs * l.Minibatches }

// LossScale multiplies the loss before the backward pass and divides the gradients after it.
type LossScale struct {
	Mode           string  `yaml:"mode" default:"auto" oneof:"auto dynamic none"`
	Initial        float64 `yaml:"initial" default:"65536" range:"[1,2^24]"`
	GrowthInterval int     `yaml:"growth_interval" default:"2000" range:"[1,2^24]"`
}

// Values of LossScale.Mode.
const (
	ScaleAuto    = "auto"
	ScaleDynamic = "dynamic"
	ScaleNone    = "none"
)

// Routing says whether the learner visits the experts that were recorded.
type Routing struct {
	Replay   string `yaml:"replay" default:"none" oneof:"none r2 r3 keep_routing pr2"`
	Gates    string `yaml:"gates" default:"live" oneof:"live recorded"`
	Router   string `yaml:"router" default:"trained" oneof:"trained frozen"`
	Released bool   `yaml:"released"`

	Predictor *RoutePredictor `yaml:"predictor"`
}

// FromRollout reports whether the learner follows the rollout engine's routes.
func (r Routing) FromRollout() bool { return r.Replay == ReplayR3 || r.Replay == ReplayKeep }

// Support says over which tokens the learner normalises its policy.
type Support struct {
	Replay bool `yaml:"replay"`
}

// RouterFrozen is a value of Routing.Router.
const RouterFrozen = "frozen"

// Values of Routing.Replay.
const (
	ReplayNone = "none"
	ReplayR2   = "r2"
	ReplayR3   = "r3"
	// ReplayKeep is Keep Routing.
	ReplayKeep = "keep_routing"
	// ReplayPr2 is r2, of routes that a RoutePredictor shifts.
	ReplayPr2 = "pr2"
)

// GatesRecorded is a value of Routing.Gates.
const GatesRecorded = "recorded"

// Eval is the evaluation of the current weights on held-out prompts, in both engines.
type Eval struct {
	Every   int  `yaml:"every" default:"20" range:"[0,2^24]"`
	Prompts int  `yaml:"prompts" default:"64" range:"[0,2^16]"`
	Samples *int `yaml:"samples" range:"[1,1024]"`
}

// PerPrompt is the number of responses to each prompt of an evaluation.
func (e Eval) PerPrompt() int {
	if e.Samples == nil {
		return 1
	}
	return *e.Samples
}

// Pretrain is the supervised warm start on the task's noisy demonstrations.
type Pretrain struct {
	Steps     int        `yaml:"steps" default:"1500" range:"[1,2^24]"`
	Batch     int        `yaml:"batch" default:"64" range:"[1,2^16]"`
	Optimizer Optimizer  `yaml:"optimizer"`
	Balance   float64    `yaml:"balance" default:"0.01" range:"[0,inf)"`
	Rejection *Rejection `yaml:"rejection"`
}

// Rejection is rejection sampling: the right answers of a checkpoint are the training data.
type Rejection struct {
	From    string `yaml:"from"`
	Prompts int    `yaml:"prompts" default:"512" range:"[1,2^16]"`
	Samples int    `yaml:"samples" default:"4" range:"[1,1024]"`
}

// Default returns what a recipe starts from: every field at its default.
func Default() Recipe {
	r := *method.New[Recipe]()
	fp32, _ := engine.Preset("fp32")
	r.Rollout.Numerics, r.Learner.Numerics = fp32, fp32
	r.Reward = Reward{mustChoose[reward.Shaper]("exact")}
	return r
}

// start implements starter: the optimiser has defaults of its own.
func (p *Pretrain) start() {
	o := &p.Optimizer
	o.LR, o.Decay, o.DecayStart, o.Final = 3e-3, decayLinear, 0.6, 0.1
}

// Resolved returns the recipe with everything filled in that follows from
// other fields: the model's dimensions and vocabulary, the loss scale's mode.
// It is what a run writes next to its results. A model without a section is
// left to the checkpoint, if there is one: see ResolvedFor.
func (r Recipe) Resolved() Recipe {
	if r.Model == (model.Config{}) && r.Checkpoint == "" {
		r.Model = model.Default()
	}
	if r.Model != (model.Config{}) {
		r.Model = r.Model.WithDefaults()
		if r.Model.Vocab == 0 {
			r.Model.Vocab = len(r.Task.Params.Vocab())
		}
	}
	if r.Learner.LossScale.Mode == ScaleAuto {
		r.Learner.LossScale.Mode = ScaleNone
		if r.Learner.Numerics.Gradients == precision.FP16 {
			r.Learner.LossScale.Mode = ScaleDynamic
		}
	}
	return r
}

// ResolvedFor is Resolved for a recipe whose checkpoint has been read: the
// checkpoint's architecture stands in for a missing model section, and must
// otherwise equal it. The error is Faults, each with its field.
func (r Recipe) ResolvedFor(checkpoint model.Config) (Recipe, error) {
	checkpoint = checkpoint.WithDefaults()
	if r.Model == (model.Config{}) {
		r.Model = checkpoint
	}
	vocabGiven := r.Model.Vocab != 0
	r = r.Resolved()
	if !vocabGiven {
		// A checkpoint with a larger vocabulary can do a task with a smaller one.
		r.Model.Vocab = max(r.Model.Vocab, checkpoint.Vocab)
	}
	faults := differences(r.Model, checkpoint, r.Checkpoint)
	faults = append(faults, r.faults()...)
	return r, faults.orNil()
}

// Work is about what a run computes: multiply-adds, with a forward pass to sample and
// one to score each token, two to train it, and for every prompt that is evaluated a
// greedy response and its samples in two engines.
func (r Recipe) Work() float64 {
	tokens := float64(r.Steps * r.Rollout.Prompts * r.Rollout.Group * (2 + 2*r.Learner.Epochs))
	if every := r.Eval.Every; every > 0 {
		tokens += float64((2 + r.Steps/every) * r.Eval.Prompts * (1 + 2*r.Eval.PerPrompt()))
	}
	return tokens * float64(r.Rollout.MaxTokens) * float64(r.Model.WithDefaults().LayerProducts())
}
