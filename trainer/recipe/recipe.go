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
// value is not one.
type Recipe struct {
	// Name labels the run in folders, tables and plots: letters, digits and . _ -.
	// Default: the file's name.
	Name string `yaml:"name"`
	// Seed starts every random stream of the run.
	Seed uint64 `yaml:"seed" default:"1"`
	// Steps is the number of training steps (rollout batches), 1 or more. Default
	// 200: the default task is solved by then.
	Steps int `yaml:"steps" default:"200" range:"[1,2^24]"`
	// MaxGeneratedTokens ends the run after the step by which the rollout engine has
	// generated this many tokens, if that comes before Steps: it makes runs equal in
	// what they may sample. 0, the default, is no limit.
	MaxGeneratedTokens int `yaml:"max_generated_tokens" range:"[0,2147483647]"`
	// Checkpoint holds the first weights: a shipped checkpoint's name, or a
	// folder in the Hugging Face layout. Empty means random weights from Seed,
	// which reinforcement learning cannot lift: it needs some right answers.
	Checkpoint string `yaml:"checkpoint"`
	// Teacher holds the weights of a frozen teacher, named like Checkpoint, for losses
	// that distil from one. Its architecture may differ from the model's, its vocabulary
	// may not be smaller. What it reads takes no time on a virtual clock, as what a
	// reference reads.
	Teacher string `yaml:"teacher"`
	// Distillation says which responses the teacher guides. Nil where the recipe has no
	// such section: it reads all, and the methods that name it do with that what they do.
	Distillation *Distillation `yaml:"distillation"`
	// Model is the architecture. Without the section it is the
	// checkpoint's, or the standard one (simulate methods model). A field of 0 takes its default, except
	// that experts: 0 is the dense variant.
	Model model.Config `yaml:"model"`
	// InvariantScale divides, once and before anything else, the weights behind the
	// attention and feed-forward norms (queries, keys, values, gate, up, router) by
	// this factor and multiplies the norms' gains by it: the same function, with
	// updates that weigh more against the error of quantised weights (UAQ, QuRL,
	// 2602.13953, with 1.5). Above 0. Default 1: nothing is scaled.
	InvariantScale float64 `yaml:"invariant_scale" default:"1" range:"(0,100]"`
	// LoRA trains adapters next to frozen weights. Nil where the recipe has no such section:
	// all weights are trained.
	LoRA *LoRA `yaml:"lora"`
	// Task makes prompts and verdicts.
	Task Choice[task.Task] `yaml:"task" default:"chain"`
	// Rollout is the engine that samples (policy mu).
	Rollout Rollout `yaml:"rollout"`
	// Learner is the engine that computes gradients (pi_old and pi).
	Learner Learner `yaml:"learner"`
	// Schedule says how old the rollout weights are: sync, a constant lag, or a published
	// system on a virtual clock, whose samples per update are rollout.prompts.
	Schedule Choice[schedule.Policy] `yaml:"schedule" default:"sync"`
	// Cluster is where a schedule on a clock runs. Nil where the recipe has no such
	// section: the defaults.
	Cluster *Cluster `yaml:"cluster"`
	// Replay trains groups of earlier steps again together with the fresh ones. Nil where the
	// recipe has no such section: none. It runs sync and lag on the virtual clock, and
	// its default anchor is rollout: the log-probs as they were sampled.
	Replay *schedule.Replay `yaml:"replay"`
	// Routing says whether recorded expert choices are replayed in the learner.
	Routing Routing `yaml:"routing"`
	// Support says whether recorded sampling supports are replayed in the learner.
	Support Support `yaml:"support"`
	// Anchor is the policy that the loss and the correction take for the old one:
	// old (pi_old, the learner before the step's first update), behaviour (pi_v, the
	// learner's numerics at the version that sampled), rollout (mu, as it was
	// sampled: the bypass mode of a correction), ewma (a moving average of the
	// learner's weights, 2605.12070), sync_start (the learner's weights as last
	// published by a schedule on a clock), interpolated (between mu and the policy
	// of each gradient by the staleness of each token, A-3PO, 2512.06547, a pass less on the
	// clock; a decoupled correction compares at the start of the batch) or mixture (of all
	// versions that sampled the batch: the balance heuristic of Veach and Guibas 1995). With
	// old and one update per step the ratio of a loss is 1, whatever the staleness of the
	// rollouts. Nil where the recipe has no such line: rollout if correction.mode is
	// bypass, else what the schedule's system does, which is old for sync and lag.
	Anchor *AnchorPolicy `yaml:"anchor" oneof:"old behaviour rollout ewma sync_start interpolated mixture"`
	// AnchorDecay is β of the moving average, θ̄ ← β·θ̄ + (1−β)·θ after each step,
	// corrected for its start, from 0 up to 1. Its centre of mass, β/(1−β) steps, is
	// best the mean staleness of the rollouts. Only anchor ewma reads it. Nil, the
	// default, is 0.889: 8 steps.
	AnchorDecay *float64 `yaml:"anchor_decay" range:"[0,1)"`
	// Retention says whether the masks of a compressed KV cache are replayed in the
	// learner. Nil where the recipe has no such section: they are not.
	Retention *Retention `yaml:"retention"`
	// Reward lists the parts whose sum is the reward; one alone needs no list.
	// Default exact: 1 for a correct response, else 0.
	Reward Reward `yaml:"reward"`
	// PrefixValues has the policy itself value its responses step by step. Nil where the
	// recipe has no such section: it does not.
	PrefixValues *PrefixValues `yaml:"prefix_values"`
	// Advantage turns rewards into advantages.
	Advantage Choice[advantage.Estimator] `yaml:"advantage" default:"grpo"`
	// Critic values states for an advantage that reads values. Nil where the recipe has no such section: ridge.
	Critic *Critic `yaml:"critic"`
	// Correction handles the gap between the two engines.
	Correction Correction `yaml:"correction"`
	// Loss is the policy loss.
	Loss Choice[loss.Loss] `yaml:"loss" default:"ppo_clip"`
	// Terms are added to the policy loss or shape what it sees: an entropy bonus, the mask
	// of low entropies.
	Terms []Choice[loss.Term] `yaml:"terms"`
	// KL is the penalty for leaving the initial weights.
	KL Choice[loss.KL] `yaml:"kl" default:"none"`
	// Guards watch the optimiser. Default: none beyond the stop on NaN and Inf.
	Guards []Choice[Guard] `yaml:"guards"`
	// Eval is the evaluation on held-out prompts.
	Eval Eval `yaml:"eval"`
	// Pretrain is the supervised warm start; only `simulate pretrain` reads it.
	// Nil where the recipe has no such section.
	Pretrain *Pretrain `yaml:"pretrain"`
}

// ReplaysRetention reports whether retention masks are replayed.
func (r Recipe) ReplaysRetention() bool { return r.Retention != nil && r.Retention.Replay }

// Learner is the engine that computes gradients, and its optimiser.
type Learner struct {
	// Numerics is how the engine computes. Default fp32.
	Numerics engine.Numerics `yaml:"numerics"`
	// Temperature divides the learner's logits. 0, the default, is the rollout's:
	// the policy that sampled. Another one is a gap, and a common mistake.
	Temperature float64 `yaml:"temperature" range:"[0,100]"`
	// Epochs is how often a step goes over its batch, 1 or more.
	Epochs int `yaml:"epochs" default:"1" range:"[1,2^16]"`
	// Minibatches is the number of updates per epoch, 1 to the number of
	// responses. Default 1: on-policy but for the engines' difference.
	Minibatches int `yaml:"minibatches" default:"1" range:"[1,2^16]"`
	// Optimizer turns gradients into updates.
	Optimizer Optimizer `yaml:"optimizer"`
	// LossScale keeps small gradients in fp16's range.
	LossScale LossScale `yaml:"loss_scale"`
}

// LearnerTemperature is the temperature at which the learner's policies are taken.
func (r Recipe) LearnerTemperature() float64 {
	return cmp.Or(r.Learner.Temperature, r.Rollout.Temperature)
}

// Updates is the number of optimiser updates per step.
func (l Learner) Updates() int { return l.Epochs * l.Minibatches }

// LossScale multiplies the loss before the backward pass and divides the
// gradients after it (1710.03740, section 3.2).
type LossScale struct {
	// Mode is none, dynamic, or auto: dynamic where the learner's gradients are fp16, none
	// elsewhere.
	Mode string `yaml:"mode" default:"auto" oneof:"auto dynamic none"`
	// Initial is the first scale, a power of two so that it rounds nothing.
	// Default 65536 (PyTorch's GradScaler).
	Initial float64 `yaml:"initial" default:"65536" range:"[1,2^24]"`
	// GrowthInterval is the number of finite updates after which the scale doubles; one
	// that is not finite is skipped and halves it.
	GrowthInterval int `yaml:"growth_interval" default:"2000" range:"[1,2^24]"`
}

// Values of LossScale.Mode.
const (
	ScaleAuto    = "auto"
	ScaleDynamic = "dynamic"
	ScaleNone    = "none"
)

// Routing says whether the learner visits the experts that were recorded.
type Routing struct {
	// Replay is none, r2 (the learner's own choices when it scored the batch are replayed
	// in its gradient steps), r3 (the rollout engine's choices are replayed in both, and
	// in the pass of a reference model) or keep_routing (r3 in every forward pass of the
	// policy, while the reference routes natively). Sources: 2507.18071 (r2, GSPO's
	// routing replay), 2510.11370 (r3), 2512.02556 section 3.1 (keep_routing).
	Replay string `yaml:"replay" default:"none" oneof:"none r2 r3 keep_routing"`
	// Gates says how replayed experts are weighed: live (by the learner's current
	// router logits, over the replayed experts) or recorded (by the gate values
	// recorded with the routes, per token, layer and rank; the gradient is
	// straight-through, so the router learns as with live gates). Default live,
	// as the sources have it. Recorded needs a replay.
	Gates string `yaml:"gates" default:"live" oneof:"live recorded"`
	// Router is trained, or frozen: the routers' weights stay those of the start, so that
	// only the inputs of the routers move the routes.
	Router string `yaml:"router" default:"trained" oneof:"trained frozen"`
	// Released measures, in addition to the gap that a replay of r3 or keep_routing leaves, the
	// one with the learner's router choosing, as gap/released_*: what the replay hides. It
	// measures the variance of the gradient with replay and without, too: gradient/*. It
	// costs a scoring pass per step, and forward and backward passes of each response alone,
	// and changes no weight.
	Released bool `yaml:"released"`
}

// FromRollout reports whether the learner follows the rollout engine's routes.
func (r Routing) FromRollout() bool { return r.Replay == ReplayR3 || r.Replay == ReplayKeep }

// Support says over which tokens the learner normalises its policy.
type Support struct {
	// Replay restricts the learner's policies (current, old, reference, teacher) to the
	// tokens that the rollout engine's top_k and top_p kept, each token's set as it was
	// recorded: log-probs, entropies, distributions and gradient. Without it every ratio
	// to a truncated rollout policy is too small by the mass that was kept. It does
	// nothing where nothing is truncated, and needs rollout.log_probs processed. Source:
	// 2512.02556, section 3.1 (Keep Sampling Mask).
	Replay bool `yaml:"replay"`
}

// Values of Routing.Router.
const (
	RouterTrained = "trained"
	RouterFrozen  = "frozen"
)

// Values of Routing.Replay.
const (
	ReplayNone = "none"
	ReplayR2   = "r2"
	ReplayR3   = "r3"
	// ReplayKeep is Keep Routing.
	ReplayKeep = "keep_routing"
)

// Values of Routing.Gates.
const (
	GatesRecorded = "recorded"
)

// Eval is the evaluation of the current weights on held-out prompts, in both
// engines. Training reward lags behind and hides a fall.
type Eval struct {
	// Every is the number of steps between evaluations; the weights before and after the
	// first update and the last ones are evaluated as well, and how far the step's updates
	// have moved the policy on its own tokens, by a scoring pass (val/update_tv). 0 means never.
	Every int `yaml:"every" default:"20" range:"[0,2^24]"`
	// Prompts is the number of held-out prompts, 1 or more. Default 64: with one
	// response each a standard error of 0.06 at a pass rate of one half.
	Prompts int `yaml:"prompts" default:"64" range:"[0,2^16]"`
	// Samples is the number of responses to each prompt, 1 to 1024, where a
	// temperature makes them differ. With more than one the record also holds pass@k
	// for k up to it, the Beta distribution fitted to the prompts' pass rates, pass rate,
	// length and entropy by difficulty, of what was easy and of what was hard for the first
	// weights, and the pass rate by length; the report draws pass@k over k. An evaluation takes that
	// many times as long. Nil, the default, is 1.
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
	// Steps is the number of updates, 1 or more.
	Steps int `yaml:"steps" default:"1500" range:"[1,2^24]"`
	// Batch is the number of demonstrations per update, 1 or more.
	Batch int `yaml:"batch" default:"64" range:"[1,2^16]"`
	// Optimizer has defaults of its own: lr 3e-3, falling to a tenth over the
	// last 40 % of the steps.
	Optimizer Optimizer `yaml:"optimizer"`
	// Balance is the weight of the auxiliary load-balancing loss, 0 or more.
	// Default 0.01 (Switch Transformers, 2101.03961). Reinforcement learning has none.
	Balance float64 `yaml:"balance" default:"0.01" range:"[0,inf)"`
	// Rejection fine-tunes the checkpoint on its own right answers. Nil where the recipe
	// has no such section: random weights learn the task's demonstrations, whatever
	// checkpoint says.
	Rejection *Rejection `yaml:"rejection"`
}

// Rejection is rejection sampling: what a checkpoint answers right is what it is trained
// on, in the template of the recipe's task. It takes a policy to the template of a
// teacher before distillation begins; with the right answers of a teacher it is supervised
// fine-tuning on the teacher's traces.
type Rejection struct {
	// From is the checkpoint whose answers are learned, shipped or a folder. Empty for the
	// one that is trained.
	From string `yaml:"from"`
	// Prompts is the number of training prompts that are sampled, 1 or more.
	Prompts int `yaml:"prompts" default:"512" range:"[1,2^16]"`
	// Samples is the number of responses to each, 1 or more.
	Samples int `yaml:"samples" default:"4" range:"[1,1024]"`
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
