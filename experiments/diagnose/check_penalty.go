package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// How a token's id has occurred before: not at all, in the response, or in the prompt alone.
const (
	firstTime uint8 = iota
	repeated
	prompted
)

// occurrences are those of a response's tokens at these places.
func occurrences(prompt, ids []int32, at []int) []uint8 {
	if ids == nil {
		return nil
	}
	seen := map[int32]uint8{}
	for _, id := range prompt {
		seen[id] = prompted
	}
	list, next := make([]uint8, 0, len(at)), 0
	for i, id := range ids {
		if next < len(at) && at[next] == i {
			list = append(list, seen[id])
			next++
		}
		seen[id] = repeated
	}
	return list
}

const (
	// penalised is the part of the squared errors that repetition explains from which a penalty is a fault, hardlyPenalised
	// from where it may be one, and repetitionZ how many standard errors the errors of repeated ids must be off.
	penalised, hardlyPenalised, repetitionZ = 0.15, 0.05, 6
	// leastOfIDs is how many tokens of ids that come both ways are needed.
	leastOfIDs = 100
)

// penalty finds a repetition, presence or frequency penalty that one engine alone applies: of the same token id, at the same
// log-odds, the error where the response has it already is another than where it comes first. Old weights have an error of an
// id, which is the same in both places; rounding has none.
type penalty struct{}

func (penalty) add(*view) {}

func (penalty) judge(e *evidence) outcome {
	if e.failed("structured-gap") {
		return notApplicable("the sampling settings differ")
	}
	p := repetitionOf(e.sample)
	if p.tokens < leastOfIDs {
		return notApplicable("too few token ids are there both for the first time and again")
	}
	which, other := "rollout engine", "learner"
	if p.effect < 0 {
		which, other = other, which
	}
	why := fmt.Sprintf("on token ids that the response already has, mean d is %+.2f, on others %+.2f; of the same id the logits differ by %.2g, which is %.0f %% of the squared errors: the %s applies a repetition, presence or frequency penalty, the %s does not",
		p.again, p.first, math.Abs(p.effect), 100*p.explained, which, other)
	switch {
	case math.Abs(p.z) <= repetitionZ || p.explained < hardlyPenalised:
		return pass(p.explained, "")
	case p.explained < penalised:
		return watch(p.explained, why)
	}
	return fail(p.explained, why, "sample with repetition_penalty 1, presence_penalty 0 and frequency_penalty 0, or apply the same to the learner's logits")
}

// repetition is how errors differ between tokens whose id the response already has and others of the same id.
type repetition struct {
	tokens       int     // of ids that come both ways
	again, first float64 // mean d
	effect, z    float64 // in logits
	explained    float64 // of the squared errors
}

func repetitionOf(rows []*kept) (p repetition) {
	s := deviationsOf(rows)
	var size []float64
	for i, x := range s.all {
		if x.id < 0 {
			return p
		}
		s.all[i].v = x.u
		size = append(size, math.Abs(x.u))
	}
	slices.Sort(size)
	values := s.withoutOdds(quantile(size, 0.98))
	type both struct {
		n   [2]float64
		sum [2]float64
	}
	ids := map[int32]*both{}
	var order []*both
	var d [2]moments
	for i, x := range s.all {
		how := s.rows[x.row].again[x.from]
		if how == prompted { // penalised by some, not by others
			continue
		}
		d[how].add(x.d, 0)
		b := ids[x.id]
		if b == nil {
			b = &both{}
			ids[x.id], order = b, append(order, b)
		}
		b.n[how]++
		b.sum[how] += values[i]
	}
	var weight, sum, squares float64
	for _, v := range values {
		squares += float64(v * v)
	}
	for _, b := range order {
		if b.n[0] == 0 || b.n[1] == 0 {
			continue
		}
		w := b.n[0] * b.n[1] / (b.n[0] + b.n[1])
		weight += w
		sum += float64(w * (b.sum[1]/b.n[1] - b.sum[0]/b.n[0]))
		p.tokens += int(b.n[0] + b.n[1])
	}
	if weight == 0 || squares == 0 {
		return repetition{}
	}
	variance := squares / float64(len(values))
	p.effect = sum / weight
	p.z = p.effect / math.Sqrt(variance/weight)
	part := float64(d[1].n) / float64(cmp.Or(d[0].n+d[1].n, 1))
	p.explained = min(1, p.effect*p.effect*part*(1-part)/variance)
	p.first, p.again = d[0].x/float64(max(d[0].n, 1)), d[1].x/float64(max(d[1].n, 1))
	return p
}
