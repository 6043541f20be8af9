package trainer

import (
	"slices"
	"testing"
)

// TestFrozenRouter trains everything but the routers.
func TestFrozenRouter(t *testing.T) {
	for _, router := range []string{"frozen", "trained"} {
		s := sessionOf(t, Options{}, "routing.router="+router, "learner.optimizer.weight_decay=0.1")
		steps(t, s, 2, func(int) {})
		for i, tensor := range s.learner.Params().Tensors() {
			same := slices.Equal(tensor.Data, s.initial.Tensors()[i].Data)
			if want := router == "frozen" && tensor.Router(); same != want {
				t.Errorf("router %s: %s unchanged: %v", router, tensor.Name, same)
			}
		}
	}
}
