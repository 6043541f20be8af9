package engine

// stage names the part of a pass the workers are to run.
type stage uint8

const (
	stageForward stage = iota
	stageEmbed
	stageAttention
	stageExperts
	stageHead
	stageHeadGrad
	stageHeadWeights
	stageExpertsGrad
	stageExpertsWeights
	stageAttentionGrad
	stageAttentionWeights
	stageEmbedGrad
)

// runner is the job the pass hands to its team: one part per worker. It is a
// value inside the pass, so that starting a stage allocates nothing.
type runner struct {
	pass  *Pass
	stage stage
	layer int
}

func (r *runner) start(s stage, layer int) {
	r.stage, r.layer = s, layer
	r.pass.team.Run(len(r.pass.workers), r)
}

// Part runs the stage for worker i.
func (r *runner) Part(i int) {
	p, k := r.pass, &r.pass.workers[i]
	switch r.stage {
	case stageForward:
		p.forward(k, i)
	case stageEmbed:
		p.embedForward(k)
	case stageAttention:
		p.attentionForward(k, r.layer)
	case stageExperts:
		p.expertsForward(k, i, r.layer)
	case stageHead:
		p.headForward(k)
	case stageHeadGrad:
		p.headGrad(k)
	case stageHeadWeights:
		p.headWeightsGrad(k, i)
	case stageExpertsGrad:
		p.expertsGrad(k, i, r.layer)
	case stageExpertsWeights:
		p.expertsWeightsGrad(k, i, r.layer)
	case stageAttentionGrad:
		p.attentionGrad(k, r.layer)
	case stageAttentionWeights:
		p.attentionWeightsGrad(k, i, r.layer)
	case stageEmbedGrad:
		p.embedGrad(i)
	}
}
