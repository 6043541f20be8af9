package scaling

// The models whose figures are published, as large as the config.json of each says.
// The lengths of their answers are worth less: see the claim's source.
var (
	qwen3MoE   = size{Layers: 48, Width: 2048, Vocabulary: 151936, Experts: 128, TopK: 8, Length: 10000}
	qwen3Dense = size{Layers: 36, Width: 4096, Vocabulary: 151936, Length: 10000}
	distill    = size{Layers: 28, Width: 1536, Vocabulary: 151936, Length: 7600}
)

// publishedFigure is a figure that a paper reports, and the size it belongs to.
type publishedFigure struct {
	Metric *gapMetric
	Family modelFamily
	Size   size
	Figure float64
	// Model and Source say of which model it is, and who reports it.
	Model, Source string
}

const (
	r3   = "R3, 2510.11370"
	fp16 = "2510.26788"
)

// published are the figures that the laws are compared with; the first is the
// primary one.
func published() []publishedFigure {
	return []publishedFigure{
		{metricKL, moeFamily, qwen3MoE, 1.535e-3, "Qwen3-30B-A3B", r3},
		{metricReplayed, moeFamily, qwen3MoE, 7.5e-4, "Qwen3-30B-A3B", r3},
		{metricFlips, moeFamily, qwen3MoE, 0.10, "Qwen3-30B-A3B", r3},
		{metricHit, moeFamily, qwen3MoE, 0.94, "Qwen3-30B-A3B", r3},
		{metricKL, denseFamily, qwen3Dense, 6.4e-4, "Qwen3-8B", r3},
		{metricSequence, denseFamily, distill, 7.64, "DeepSeek-R1-Distill-Qwen-1.5B", fp16},
		{metricSequenceFP16, denseFamily, distill, 0.32, "DeepSeek-R1-Distill-Qwen-1.5B", fp16},
	}
}
