package engine

// stage names a part of a pass.
type stage uint8

const (
	noStage      stage = iota
	stageForward       // every block through the queue
	stageEmbed
	stageAttention
	stageExperts
	stageHead
	stageHeadGrad
	stageExpertsGrad
	stageAttentionGrad
	stageEmbedGrad
)

// call is a stage of a layer.
type call struct {
	stage stage
	layer int
}

// runner is the job the pass hands to its team: one part per worker. It is a
// value inside the pass, so that starting a stage allocates nothing.
type runner struct {
	pass        *Pass
	before, now call
}

// start runs a phase: the parameters' gradients of the stage before, and a stage.
func (r *runner) start(before, now call) {
	r.before, r.now = before, now
	r.pass.team.Run(len(r.pass.workers), r)
}

// Part runs the phase for worker i.
func (r *runner) Part(i int) {
	p, k := r.pass, &r.pass.workers[i]
	switch r.now.stage {
	case stageForward:
		p.forward(k, i)
	case stageEmbedGrad:
		p.backwardWeights(i, r.before)
		p.embedGrad(i)
	default:
		p.backwardWeights(i, r.before)
		p.backwardStage(k, r.now)
	}
}
