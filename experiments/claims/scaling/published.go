package scaling

// The models whose figures are published, as large as the config.json of each says.
// The lengths of their answers are worth less: see the claim's source.
var (
	qwen3MoE   = Size{Layers: 48, Width: 2048, Vocabulary: 151936, Experts: 128, TopK: 8, Length: 10000}
	qwen3Dense = Size{Layers: 36, Width: 4096, Vocabulary: 151936, Length: 10000}
	distill    = Size{Layers: 28, Width: 1536, Vocabulary: 151936, Length: 7600}
)

// Published is a figure that a paper reports, and the size it belongs to.
type Published struct {
	Metric *Metric
	Family Family
	Size   Size
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
func published() []Published {
	return []Published{
		{metricKL, MoE, qwen3MoE, 1.535e-3, "Qwen3-30B-A3B", r3},
		{metricReplayed, MoE, qwen3MoE, 7.5e-4, "Qwen3-30B-A3B", r3},
		{metricFlips, MoE, qwen3MoE, 0.10, "Qwen3-30B-A3B", r3},
		{metricHit, MoE, qwen3MoE, 0.94, "Qwen3-30B-A3B", r3},
		{metricKL, Dense, qwen3Dense, 6.4e-4, "Qwen3-8B", r3},
		{metricSequence, Dense, distill, 7.64, "DeepSeek-R1-Distill-Qwen-1.5B", fp16},
		{metricSequenceFP16, Dense, distill, 0.32, "DeepSeek-R1-Distill-Qwen-1.5B", fp16},
	}
}
