package trainer

import (
	"math"

	"driftlab/engine/learner"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/trainer/method/batch"
	"driftlab/trainer/method/masked"
	"driftlab/trainer/method/stream"
	"driftlab/trainer/method/task"
	"driftlab/trainer/recipe"
)

// teacher is a frozen policy to distil from. Where the recipe says which responses it
// guides, it reads these alone.
type teacher struct {
	*learner.Scorer
	params *model.Params

	chosen []bool // responses
	rows   []int
	part   batch.Sampled // the responses it reads
	said   batch.Scored
	whole  batch.Scored // what it said, and of the others what the learner does
	guided []bool
}

func newTeacher(s *Session) (stage, error) {
	p, err := openTeacher(s.recipe)
	if p == nil || err != nil {
		return nil, err
	}
	return &teacher{Scorer: s.scorerOf(p), params: p}, nil
}

// run fills Teacher. Another model's routes mean nothing to it, nor do masks of
// another cache.
func (t *teacher) run(s *Session) error {
	if s.recipe.Distillation == nil {
		return t.read(s, &s.batch.Teacher, &s.batch.Sampled)
	}
	t.choose(s)
	if err := t.ask(s); err != nil {
		return err
	}
	s.batch.Teacher, s.batch.Guided = t.whole, t.guided
	t.observe(s)
	return nil
}

func (t *teacher) read(s *Session, dst *batch.Scored, in *batch.Sampled) error {
	other := s.recipe.Distillation != nil && s.recipe.Distillation.Stop == recipe.StopOther
	t.Score(dst, in, learner.ScoreOptions{
		Policy:        learner.Policy{Temperature: s.policy.Temperature, Support: s.policy.Support},
		Distributions: s.recipe.Needs(batch.DistTeacher) || other, WithoutRoutes: true})
	if other {
		exchangeStops(dst, in)
	}
	return s.checkFrozen("logp_teacher", "the teacher", in, dst.Logp, t.Scorer, t.params)
}

// exchangeStops makes the scores those of a teacher that ends responses with padding.
func exchangeStops(dst *batch.Scored, in *batch.Sampled) {
	for n, token := range in.Token {
		row := dst.Dist[n*in.Vocab : (n+1)*in.Vocab]
		row[task.EOS], row[task.PAD] = row[task.PAD], row[task.EOS]
		if token == task.EOS || token == task.PAD {
			dst.Logp[n] = float64(row[token])
		}
	}
}

// choose lists the responses that the recipe wants guided, and logs the share of
// prompts that count as hard.
func (t *teacher) choose(s *Session) {
	b, o := &s.batch, s.recipe.Distillation
	s.groups.Find(b.Group)
	t.chosen, t.rows = batch.Zeroed(t.chosen, b.Len()), t.rows[:0]
	hard, count := 0.0, 0
	for rows := range s.groups.All() {
		if correct(b, rows)/float64(len(rows)) > o.PassRate {
			continue
		}
		hard++
		for _, i := range rows {
			if t.chosen[i] = !(o.Failed && b.Correct[i]); t.chosen[i] {
				count++
			}
		}
	}
	if o.Random {
		clear(t.chosen)
		for _, i := range stream.New(s.recipe.Seed, stream.Guidance, b.Step).Perm(b.Len())[:count] {
			t.chosen[i] = true
		}
	}
	for i := range masked.Kept(t.chosen) {
		t.rows = append(t.rows, i)
	}
	s.log("opd/hard_prompts", hard/float64(s.groups.Len()))
	s.log("opd/responses", float64(count)/float64(b.Len()))
}

// ask scores the chosen responses, and marks the tokens within the horizon.
func (t *teacher) ask(s *Session) error {
	b, o := &s.batch, s.recipe.Distillation
	t.whole.Logp = append(t.whole.Logp[:0], b.Old.Logp...)
	if s.recipe.Needs(batch.DistTeacher) {
		t.whole.Dist = append(t.whole.Dist[:0], b.Old.Dist...)
	}
	t.guided = batch.Zeroed(t.guided, b.Tokens())
	if len(t.rows) > 0 {
		b.Sampled.Select(&t.part, t.rows)
		if err := t.read(s, &t.said, &t.part); err != nil {
			return err
		}
	}
	for k, i := range t.rows {
		at, end := t.part.Span(k)
		from, _ := b.Span(i)
		copy(t.whole.Logp[from:], t.said.Logp[at:end])
		if s.recipe.Needs(batch.DistTeacher) {
			copy(t.whole.Dist[from*b.Vocab:], t.said.Dist[at*b.Vocab:end*b.Vocab])
		}
		generated := 0
		for n := range b.Where(i, b.Mask) {
			if t.guided[n] = o.Horizon == 0 || generated < o.Horizon; !t.guided[n] {
				break
			}
			generated++
		}
	}
	return nil
}

// observe logs what the teacher read and how far it is from the learner: the overlap
// is an estimate of Σ_a min(p, p_teacher) from the sampled tokens.
func (t *teacher) observe(s *Session) {
	b, tokens := &s.batch, 0
	for _, i := range t.rows {
		from, to := b.Span(i)
		tokens += to - from
	}
	var gap, square, overlap, ends, stops float64
	for n := range masked.Kept(t.guided) {
		d := b.Old.Logp[n] - b.Teacher.Logp[n]
		gap, square, overlap = gap+d, square+float64(d*d/2), overlap+min(1, elementary.Exp(-d))
		if b.Token[n] == task.EOS {
			ends, stops = ends+b.Old.Logp[n]-b.Teacher.Logp[n], stops+1
		}
	}
	guided := float64(masked.Count(t.guided))
	per := max(guided, 1)
	s.log("opd/teacher_tokens", float64(tokens))
	s.log("opd/tokens", guided/float64(max(masked.Count(b.Mask), 1)))
	s.log("opd/k1", gap/per)
	if stops > 0 {
		s.log("opd/stop_k1", ends/stops)
	}
	s.log("opd/k2", square/per)
	s.log("opd/overlap", overlap/per)
}

// distill replaces the advantages of guided tokens by log p_teacher - log p_old,
// normalised as the recipe says, and logs how much either kind weighs, and how many
// guided tokens the normalisation turned against the teacher signal.
func (s *Session) distill() error {
	b := &s.batch
	signal := func(n int) float64 { return b.Teacher.Logp[n] - b.Old.Logp[n] }
	squares := 0.0
	for n := range masked.Kept(b.Guided) {
		b.Advantage[n] = signal(n)
		squares += float64(signal(n) * signal(n))
	}
	count := float64(masked.Count(b.Guided))
	switch s.recipe.Distillation.Advantage {
	case recipe.DistilSeparate:
		masked.Whiten(b.Advantage, b.Guided)
	case recipe.DistilScaled:
		if squares > 0 {
			scale := math.Sqrt(count / squares)
			for n := range masked.Kept(b.Guided) {
				b.Advantage[n] *= scale
			}
		}
	case recipe.DistilJoint:
		masked.Whiten(b.Advantage, b.Mask)
	}
	var teacher, own, flipped float64
	for n, m := range b.Mask {
		switch {
		case !m:
		case b.Guided[n]:
			teacher += math.Abs(b.Advantage[n])
			if float64(b.Advantage[n]*signal(n)) < 0 {
				flipped++
			}
		default:
			own += math.Abs(b.Advantage[n])
		}
	}
	s.log("opd/advantage", teacher/max(count, 1))
	s.log("opd/own_advantage", own/max(float64(masked.Count(b.Mask))-count, 1))
	s.log("opd/flipped", flipped/max(count, 1))
	return nil
}
