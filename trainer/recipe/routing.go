package recipe

import (
	"embed"

	"driftlab/trainer/method"
	"driftlab/trainer/method/batch"

	"go.yaml.in/yaml/v4"
)

// texts are what each replay does, when to use it, and its source.
//
//go:embed methods.txt
var texts embed.FS

// routings are the routing replays that recipes name under routing.replay, and the way of
// weighing replayed experts that they name under routing.gates. They have no parameters of
// their own: package learner does them.
var routings = method.Table[struct{}]{
	{Spec: method.Spec{Name: ReplayR2, Needs: batch.Columns{batch.RoutesOld},
		Gradient: "through the gates: ds_j = g_j·(dg_j − Σ_{l∈I} g_l·dg_l) on I, 0 outside"}},
	{Spec: method.Spec{Name: ReplayR3, Needs: batch.Columns{batch.RoutesRoll}}},
	{Spec: method.Spec{Name: ReplayKeep, Needs: batch.Columns{batch.RoutesRoll}}},
	{Spec: method.Spec{Name: ReplayPr2, Needs: batch.Columns{batch.RoutesOld}}},
	{Spec: method.Spec{Name: GatesRecorded, Group: "replayed gates", Needs: batch.Columns{batch.GatesRoll},
		Gradient: "that of the live gates: ds_j = live_j·(dg_j − Σ_{l∈I} live_l·dg_l) on I; dg is taken where the recorded gates put the network"}},
}.Filled(method.Spec{Group: "routing replay", Unit: method.Token, Gradient: "as r2"}, texts)

// RoutePredictor is what the replay pr2 trains.
type RoutePredictor struct {
	LR   float64 `yaml:"lr" default:"1e-3" range:"[0,10]"`
	Loss string  `yaml:"loss" default:"kl_post" oneof:"kl_post kl"`
}

// Prediction is the predictor of the replay pr2, nil for other replays.
func (r Routing) Prediction() *RoutePredictor {
	if r.Replay == ReplayPr2 && r.Predictor == nil {
		return method.New[RoutePredictor]()
	}
	return r.Predictor
}

// routingExample is recomputed by a test.
const routingExample = `s = [1 0.5 0.2 -1], I = {0, 3} recorded with the gates [0.7 0.3]
live gates [0.880797 0.119203], recorded gates [0.7 0.3]
dg = [1 0]: ds = [0.104994 0 0 -0.104994] with either`

// appendRoutings lists the methods of routing replay.
func appendRoutings(all []Method) []Method {
	for _, e := range routings {
		s, field := e.Spec, "routing.replay"
		if s.Name == GatesRecorded {
			field = "routing.gates"
		}
		s.Aliases, s.Example = []string{}, routingExample
		all = append(all, Method{Spec: s, Field: field, Defaults: Defaults{&yaml.Node{Kind: yaml.MappingNode}}})
	}
	return all
}
