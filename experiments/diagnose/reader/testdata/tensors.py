import json, math, os, sys, types
class T(list):
    def __getitem__(self, i):
        x = list.__getitem__(self, i)
        return T(x) if isinstance(x, list) else N(x)
    def tolist(self): return [x.tolist() if isinstance(x, T) else x for x in self]
    def unbind(self): return list(self)
    def sum(self): return sum(list(self))
    def to_torch(self): return self
    def to_ints(self): return self.tolist()
class N(float):
    def tolist(self): return float(self)
def t(*rows): return T([T(r) for r in rows])
out = {"prompt_ids": t([0, 5]), "prompt_mask": t([0, 1]), "completion_ids": t([7, 8, 0]), "completion_mask": t([1, 1, 0]), "tool_mask": t([0, 1, 1]),
       "advantages": T([3.0]), "sampling_per_token_logps": t([-1.0, -2.0, 0.0]), "old_per_token_logps": t([-1.5, -2.5, -9.0])}
class GRPOTrainer:
    model, state, accelerator = types.SimpleNamespace(training=True), types.SimpleNamespace(global_step=4), types.SimpleNamespace(process_index=0)
    temperature = 1.0
    def _generate_and_score_completions(self, inputs): return out
sys.modules["trl"] = types.SimpleNamespace(GRPOTrainer=GRPOTrainer)
