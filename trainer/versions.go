package trainer

import "driftlab/model"

// versions keeps the last weights, so that a schedule can let an older version
// generate. Version v is the weights after v updates.
type versions struct {
	ring   []*model.Params // version v lives at v modulo the length
	newest int
	oldest int
	held   []*model.Params // versions of which it is not settled whether they are kept, nil where all are
}

// add keeps a copy of the weights as the given version, the successor of the newest.
func (v *versions) add(p *model.Params, version int) {
	if v.held != nil {
		v.held = append(v.held, p.Clone())
		return
	}
	v.newest = version
	v.oldest = max(v.oldest, version-len(v.ring)+1)
	at := version % len(v.ring)
	if v.ring[at] == nil {
		v.ring[at] = p.Clone()
		return
	}
	v.ring[at].CopyFrom(p)
}

// settle adds the versions that were held back, or drops them.
func (v *versions) settle(keep bool) {
	held := v.held
	v.held = nil
	for _, p := range held {
		if keep {
			v.add(p, v.newest+1)
		}
	}
}

// at returns the version, or the oldest kept when it is older, with its weights.
func (v *versions) at(version int) (int, *model.Params) {
	version = min(max(version, v.oldest), v.newest)
	return version, v.ring[version%len(v.ring)]
}

// weightsAt are the weights after the given number of updates, with which a token of
// the batch was sampled.
func (s *Session) weightsAt(updates int) *model.Params {
	if s.published != nil {
		return s.published(updates).Params
	}
	_, weights := s.versions.at(updates)
	return weights
}
