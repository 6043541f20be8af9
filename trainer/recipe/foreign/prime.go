package foreign

import (
	"fmt"

	"driftlab/trainer/method"
	"driftlab/trainer/method/correction"
	"driftlab/trainer/method/loss"
	"driftlab/trainer/recipe"
)

// prime is prime-rl: its loss, which weighs by the ratio to the rollout engine itself.
var prime = framework{
	name:     "prime-rl",
	sections: []section{{"loss", []string{"type", "dppo_mask_low", "dppo_mask_high", "adv_tau", "kl_tau", "teacher_tau", "import_path", "kwargs"}}},
	own:      []string{"dppo_mask"},
	read:     readPrime, write: writePrime,
}

func readPrime(v *values, c *Config) {
	c.Pipeline = &correction.Pipeline{Names: "verl"}
	if kind := v.text("type", "default"); kind != "default" {
		c.note("loss type %s: what it computes cannot be known", kind)
		return
	}
	c.Loss = fmt.Sprintf("{name: prime_dppo, delta_low: %v, delta_high: %v, adv_tau: %v, kl_tau: %v, log_clamp: 0}",
		v.number("dppo_mask_low", 0.2), v.number("dppo_mask_high", 0.2), v.number("adv_tau", 1), v.number("kl_tau", 1e-3))
	if v.number("teacher_tau", 0) != 0 {
		c.note("teacher_tau needs a teacher: name one in the recipe, and use the loss prime_geo")
	}
}

func writePrime(r recipe.Recipe) (string, []string) {
	w := &writing{framework: "prime-rl"}
	l, own := r.Loss.Params.(*loss.PrimeDPPO)
	if !own {
		l = method.New[loss.PrimeDPPO]()
	}
	if p := r.Correction.Pipeline(); p.Weights != nil {
		w.notes = append(w.notes, "the weight is the untruncated ratio; a cap needs type = \"custom\"")
	}
	for _, m := range r.Correction.Masks {
		w.cannot(m.Name + ": its own mask bounds the difference of probabilities")
	}
	text := fmt.Sprintf("[trainer.loss]\ntype = \"default\"\ndppo_mask_low = %s\ndppo_mask_high = %s\n", number(l.DeltaLow), number(l.DeltaHigh))
	if l.AdvTau != 1 {
		text += "adv_tau = " + number(l.AdvTau) + "\n"
	}
	return text + "kl_tau = " + number(l.KLTau) + "\n", w.notes
}
