package scaling

import (
	"math"
	"strings"

	"driftlab/experiments/claims/claim"
	"driftlab/model"
	"driftlab/precision/elementary"
	"driftlab/results/stats"
)

// Changes of the weights at the start, each of which gives a model something that large models have. None
// is undone by training of some hundred steps.
var (
	// growing makes the output projections of attention and feed-forward network four times as large, so
	// that the residual stream grows along the layers.
	growing = claim.Start{Name: "growing", Change: eachTensor(func(name string, _ int, data []float32) {
		if strings.Contains(name, ".o_proj.") || strings.Contains(name, ".w2.") || strings.Contains(name, ".down_proj.") {
			for i := range data {
				data[i] *= 4
			}
		}
	})}
	// heavyTailed takes the cube of each weight, and scales the matrix to its root mean square: a
	// kurtosis of about 46 in place of 3.
	heavyTailed = claim.Start{Name: "heavy-tailed", Change: eachTensor(func(_ string, _ int, data []float32) {
		before := rms(data)
		for i, v := range data {
			data[i] = v * v * v
		}
		scale := before / rms(data)
		for i := range data {
			data[i] *= scale
		}
	})}
	// massiveChannel adds 30 to one channel of all embeddings, 60 times the standard deviation of the others.
	massiveChannel = claim.Start{Name: "massive-channel", Change: eachTensor(func(name string, width int, data []float32) {
		if isEmbedding(name) {
			for i := outlierChannel; i < len(data); i += width {
				data[i] += 30
			}
		}
	})}
	// unevenChannels scales the channels of the embeddings by factors from 1/5 to 5, no powers of two.
	unevenChannels = claim.Start{Name: "uneven-channels", Change: eachTensor(func(name string, width int, data []float32) {
		if isEmbedding(name) {
			for i := range data {
				place := float64(2*(i%width))/float64(width-1) - 1
				data[i] *= float32(elementary.Exp(float64(place * math.Ln2 * 7 / 3)))
			}
		}
	})}
)

// outlierChannel is the channel of massiveChannel.
const outlierChannel = 3

func isEmbedding(name string) bool { return strings.Contains(name, "embed_") }

// eachTensor changes each matrix, which has as many columns as width says.
func eachTensor(change func(name string, width int, data []float32)) func(*model.Params) {
	return func(p *model.Params) {
		for _, t := range p.Tensors() {
			if len(t.Shape) == 2 {
				change(t.Name, t.Shape[1], t.Data)
			}
		}
	}
}

// rms is the root mean square.
func rms(x []float32) float32 {
	squares := make([]float64, len(x))
	for i, v := range x {
		squares[i] = float64(v) * float64(v)
	}
	return float32(math.Sqrt(stats.Average(squares)))
}
