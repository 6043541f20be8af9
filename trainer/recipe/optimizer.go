package recipe

import "driftlab/precision/elementary"

// Optimizer is AdamW (1711.05101) with clipping by the global norm, and the
// learning rate's course.
type Optimizer struct {
	// Name is the optimiser: adamw.
	Name string `yaml:"name" default:"adamw" oneof:"adamw"`
	// LR is the learning rate at its height, [0, 10]. Default 1e-3: the highest
	// at which the default task is stable with 16 prompts of 8 responses. 0 leaves
	// the weights as they are: what is left of the gap is the engines'.
	LR float64 `yaml:"lr" default:"1e-3" range:"[0,10]"`
	// Beta1 is the decay of the gradient's mean, [0, 1).
	Beta1 float64 `yaml:"beta1" default:"0.9" range:"[0,1)"`
	// Beta2 is the decay of its mean square, [0, 1). Default 0.99: runs are a few
	// hundred steps, and the usual 0.999 would not have warmed up.
	Beta2 float64 `yaml:"beta2" default:"0.99" range:"[0,1)"`
	// Eps keeps the division finite, above 0.
	Eps float64 `yaml:"eps" default:"1e-8" range:"(0,1]"`
	// WeightDecay is decoupled from the gradient, 0 or more, per unit of LR.
	WeightDecay float64 `yaml:"weight_decay" range:"[0,inf)"`
	// ClipNorm bounds the global norm of the gradient; 0 is no bound.
	ClipNorm float64 `yaml:"clip_norm" default:"1" range:"[0,inf)"`
	// Warmup is the number of updates over which LR rises from 0.
	Warmup int `yaml:"warmup" default:"5" range:"[0,2^24]"`
	// Decay is constant, linear or cosine.
	Decay string `yaml:"decay" default:"constant" oneof:"constant linear cosine"`
	// DecayStart is the share of the updates after which LR falls, [0, 1).
	DecayStart float64 `yaml:"decay_start" range:"[0,1)"`
	// Final is the share of LR that is left at the last update, [0, 1].
	Final float64 `yaml:"final" range:"[0,1]"`
}

// Values of Optimizer.Decay.
const (
	decayConstant = "constant"
	decayLinear   = "linear"
	decayCosine   = "cosine"
)

// Rate is the learning rate of an update, counted from 0, of a run of updates.
//
//	warm-up  LR·(u+1)/(warmup+1)                  u < warmup
//	linear   LR·(1 - (1-final)·x)                 x = share of the fall that is done
//	cosine   LR·(final + (1-final)·(1+cos πx)/2)
func (o Optimizer) Rate(update, updates int) float64 {
	if update < o.Warmup {
		return o.LR * float64(update+1) / float64(o.Warmup+1)
	}
	if o.Decay == decayConstant {
		return o.LR
	}
	start := max(float64(o.Warmup), o.DecayStart*float64(updates))
	x := min(max((float64(update)-start)/max(float64(updates-1)-start, 1), 0), 1)
	if o.Decay == decayCosine {
		return o.LR * (o.Final + float64((1-o.Final)*(1+elementary.CosPi(x))/2))
	}
	return o.LR * (1 - float64((1-o.Final)*x))
}
