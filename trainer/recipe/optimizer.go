package recipe

import "driftlab/precision/elementary"

// Optimizer is AdamW (1711.05101) with clipping by the global norm, and the
// learning rate's course.
type Optimizer struct {
	Name        string  `yaml:"name" default:"adamw" oneof:"adamw"`
	LR          float64 `yaml:"lr" default:"1e-3" range:"[0,10]"`
	Beta1       float64 `yaml:"beta1" default:"0.9" range:"[0,0.99999]"`
	Beta2       float64 `yaml:"beta2" default:"0.99" range:"[0,0.99999]"`
	Eps         float64 `yaml:"eps" default:"1e-8" range:"[1e-38,1]"`
	WeightDecay float64 `yaml:"weight_decay" range:"[0,inf)"`
	ClipNorm    float64 `yaml:"clip_norm" default:"1" range:"[0,inf)"`
	Warmup      int     `yaml:"warmup" default:"5" range:"[0,2^24]"`
	Decay       string  `yaml:"decay" default:"constant" oneof:"constant linear cosine"`
	DecayStart  float64 `yaml:"decay_start" range:"[0,1)"`
	Final       float64 `yaml:"final" range:"[0,1]"`
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
