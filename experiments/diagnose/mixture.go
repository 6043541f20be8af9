package diagnose

import (
	"math"

	"driftlab/precision/elementary"
)

// jumps is a two-state chain of error sizes along responses: now and then, for a few tokens, errors are many
// times larger, which is what another route does. Each state's errors have Student's law, since positions are of
// unequal size; its tail is chosen by likelihood.
type jumps struct {
	law          student
	small, large float64 // scales
	share        float64 // of tokens that jump
	stay         float64 // that the next one jumps as well
	// gain is by how much, in log-likelihood, two states explain the errors better than one.
	gain float64
	// chance is that of a jump, by deviation.
	chance []float64
}

const (
	// passes are those of the EM, which starts where jumps are rare and short.
	passes     = 20
	firstShare = 0.03
	firstStay  = 0.5
	firstLarge = 8.0
	// leastGain is what two states, of three parameters more, gain if there are any, leastLarge how many
	// times larger a jump is.
	leastGain, leastLarge = 12, 4
	// leastStay is the chance that a jump goes on from which it is one of routes: large errors that come one by
	// one are the tail of another law. On runs of this program replaying the routes leaves them as they are.
	leastStay = 0.25
)

// student is Student's law, and the logarithm of its constant.
type student struct{ degrees, constant float64 }

// students are the laws that are tried: from those of very unequal positions to the normal one. Their constants
// are log Γ((n+1)/2) − log Γ(n/2) − log(nπ)/2.
var students = []student{{3, -1.0008888496235095}, {4, -0.9808292530117257}, {8, -0.9501086121502307}, {30, -0.9272703253788515}}

// of is the density of an error at a scale, and the weight that the EM gives it there.
func (l student) of(v, scale float64) (density, weight float64) {
	z := v / scale
	w := 1 / (1 + float64(z*z)/l.degrees)
	return elementary.Exp(l.constant+float64(0.5*(l.degrees+1)*elementary.Log(w))) / scale, (l.degrees + 1) / l.degrees * w
}

// jumpsOf fits the chain with the law that explains the errors best.
func (s *deviations) jumpsOf() jumps {
	var best jumps
	alone := math.Inf(-1)
	for i, l := range students {
		j, one := s.chain(l)
		if i == 0 || j.gain > best.gain {
			best = j
		}
		alone = max(alone, one)
	}
	best.gain -= alone
	return best
}

// chain fits the chain with a law, and has as its gain the log-likelihood; alone is that of one state.
func (s *deviations) chain(l student) (j jumps, alone float64) {
	n := len(s.all)
	j = jumps{law: l, chance: make([]float64, n), share: firstShare, stay: firstStay}
	size := make([]float64, n)
	for i, x := range s.all {
		size[i] = math.Abs(x.v)
	}
	j.small = max(medianOf(size)/0.741, 1e-300)
	one := j.small
	for range passes {
		sum := 0.0
		for _, x := range s.all {
			_, w := l.of(x.v, one)
			sum += float64(w * x.v * x.v)
		}
		one = math.Sqrt(sum / float64(n))
	}
	for _, x := range s.all {
		p, _ := l.of(x.v, one)
		alone += elementary.Log(max(p, 1e-300))
	}
	j.large = firstLarge * j.small
	back, of := make([][2]float64, n), make([]emission, n)
	for range passes {
		likelihood, next := 0.0, jumps{}
		var moves, from, weight float64
		var square [2]float64
		for i, x := range s.all {
			of[i].small, of[i].weightSmall = l.of(x.v, j.small)
			of[i].large, of[i].weightLarge = l.of(x.v, j.large)
		}
		for _, span := range s.span {
			likelihood += j.smooth(of[span[0]:span[1]], j.chance[span[0]:span[1]], back[span[0]:span[1]])
			for i := span[0]; i < span[1]; i++ {
				v, g := s.all[i].v, j.chance[i]
				square[0] += float64((1 - g) * of[i].weightSmall * v * v)
				square[1] += float64(g * of[i].weightLarge * v * v)
				weight += g
				if i > span[0] {
					// The chance that both jump, given each alone: the chain's own odds between them.
					before := j.chance[i-1]
					on := float64(j.stay * of[i].large * back[i][1])
					off := float64((1 - j.stay) * of[i].small * back[i][0])
					from += before
					if on+off > 0 {
						moves += float64(before * on / (on + off))
					}
				}
			}
		}
		next = jumps{law: l, chance: j.chance, share: weight / float64(n), stay: firstStay, gain: likelihood}
		next.small = math.Sqrt(square[0] / max(float64(n)-weight, 1))
		next.large = math.Sqrt(square[1] / max(weight, 1e-9))
		if from > 0 {
			next.stay = min(moves/from, 0.98)
		}
		next.share = max(min(next.share, 0.3), 1e-4)
		next.stay = max(next.stay, next.share)
		j = next
		j.small, j.large = max(j.small, 1e-12), max(j.large, j.small)
	}
	return j, alone
}

// emission is what an error has in the two states: its density, and its weight in the EM.
type emission struct{ small, large, weightSmall, weightLarge float64 }

// smooth sets the chances of a response by the forward and backward recursions, and returns its log-likelihood.
// back are the likelihoods of what follows, by state.
func (j *jumps) smooth(of []emission, chance []float64, back [][2]float64) float64 {
	enter := j.share * (1 - j.stay) / (1 - j.share)
	after := [2]float64{1, 1}
	for i := len(of) - 1; i >= 0; i-- {
		back[i] = after
		x := [2]float64{
			float64((1-enter)*of[i].small*after[0]) + float64(enter*of[i].large*after[1]),
			float64((1-j.stay)*of[i].small*after[0]) + float64(j.stay*of[i].large*after[1]),
		}
		total := max(x[0]+x[1], 1e-300)
		after = [2]float64{x[0] / total, x[1] / total}
	}
	likelihood := 0.0
	state := [2]float64{1 - j.share, j.share}
	for i := range of {
		a0, a1 := float64(state[0]*of[i].small), float64(state[1]*of[i].large)
		total := max(a0+a1, 1e-300)
		likelihood += elementary.Log(total)
		a0, a1 = a0/total, a1/total
		b0, b1 := float64(a0*back[i][0]), float64(a1*back[i][1])
		chance[i] = 0
		if b0+b1 > 0 {
			chance[i] = b1 / (b0 + b1)
		}
		state = [2]float64{float64(a0*(1-enter)) + float64(a1*(1-j.stay)), float64(a0*enter) + float64(a1*j.stay)}
	}
	return likelihood
}

// found reports whether there are jumps at all, alone whether they come one by one.
func (j *jumps) found() (is, alone bool) {
	is = j.gain > leastGain && j.large > leastLarge*j.small
	return is && j.stay >= leastStay, is && j.stay < leastStay
}

// jumped is the part of Σk3 that jumps have beyond what the tokens would have without.
type jumped struct {
	share, stay *float64 // of all of it; nil where nothing jumps
	lone        *float64 // the share of large errors that come one by one, which are not counted as jumps
	// flips is the share of tokens with other experts, flipPart what they have of it; nil where routes are unknown.
	flips, flipPart *float64
	// routed is the part of all that jumps have where routes are known, nil where they are not.
	routed *float64
}

// mostMixed bounds the tokens on which jumps are looked for.
const mostMixed = 30_000

// jumpedOf looks for jumps in the first responses of a sample. Where routes were recorded a jump is where they differ,
// and of a response of fresh weights, whatever is there: old ones take other routes, too.
func jumpedOf(rows []*kept) jumped {
	tokens := 0
	for i, k := range rows {
		if tokens += len(k.roll); tokens > mostMixed {
			rows = rows[:i+1]
			break
		}
	}
	s := deviationsOf(rows)
	j := s.jumpsOf()
	p := jumped{}
	found, alone := j.found()
	extra, counted := 0.0, 0.0
	if found || alone {
		extra = 1 - float64(j.small/j.large*j.small/j.large)
	}
	if found {
		counted = 1
	}
	beyond := s.flipped(&p)
	all, jumps, known, routed, flips := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, x := range s.all {
		d := max(-overflow, min(overflow, x.d))
		k3 := elementary.Expm1(d) - d
		all += k3
		look := float64(j.chance[i] * extra)
		jumps += float64(k3 * look)
		part := look * counted
		switch k := s.rows[x.row]; {
		case k.flipped == nil:
		case !k.flipped[x.from]:
			part = 0
			routed += k3
		default:
			routed += k3
			flips += float64(k3 * beyond)
			if k.lag == 0 {
				part = beyond
			}
		}
		known += float64(k3 * part)
	}
	if all > 0 {
		p.share, p.lone = new(counted*jumps/all), new((1-counted)*jumps/all)
	}
	if routed > 0 {
		p.flipPart, p.routed = new(flips/routed), new(known/all)
	}
	if found {
		p.stay = &j.stay
	}
	return p
}

// flipped fills the share of tokens with other experts, and returns the part of their squares beyond that of the
// tokens with the same ones.
func (s *deviations) flipped(p *jumped) (beyond float64) {
	var n [2]int
	var squares [2]float64
	for _, x := range s.all {
		if k := s.rows[x.row]; k.flipped != nil {
			side := count1(k.flipped[x.from])
			n[side]++
			squares[side] += float64(x.v * x.v)
		}
	}
	if n[0]+n[1] == 0 {
		return 0
	}
	p.flips = new(share(n[1], n[0]+n[1]))
	if n[0] == 0 || n[1] == 0 || squares[1] == 0 {
		return 0
	}
	return max(0, 1-squares[0]/float64(n[0])*float64(n[1])/squares[1])
}
