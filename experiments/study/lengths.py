# %% [markdown]
# # Judge the study of response length
#
# A notebook as text, like ranking.py. It reads the cells of `simulate study length --out DIR`, finished or under way, and prints the length over training of every arm
# and the checks that experiments/studies/length.yaml declares. It needs nothing but Python 3, and zstd for a finished folder:
#
#     STUDY=runs/length python3 experiments/study/lengths.py

# %%
import json
import math
import os
import subprocess
from pathlib import Path
from statistics import mean

folder = Path(os.environ.get("STUDY", "runs/length"))
plain = folder / "cells.jsonl"
text = plain.read_text() if plain.exists() else subprocess.check_output(["zstd", "-dc", f"{plain}.zst"], text=True)
runs = {}  # (arm, seed) -> metric -> {step: value}
for line in text.splitlines():
    cell = json.loads(line)
    curve = {c["name"]: dict(zip(c.get("step") or range(1, len(c["value"]) + 1), c["value"])) for c in cell.get("curve") or []}
    runs[cell["arm"], cell["seed"]] = curve
arms = list(dict.fromkeys(arm for arm, _ in runs))
LENGTH, SCORE = "response_length/mean", "critic/score/mean"


def windows(curve, metric):
    """Means over ten updates."""
    values = [v for step, v in sorted(curve.get(metric, {}).items()) if step > 0]
    return [sum(values[i : i + 10]) / 10 for i in range(0, len(values) - 9, 10)]


def first(arm, metric=LENGTH):
    return by_model(arm, lambda c: windows(c, metric)[0])


def last(arm, metric=LENGTH):
    return by_model(arm, lambda c: mean(windows(c, metric)[-5:]))


def lowest(arm, metric=LENGTH):
    return by_model(arm, lambda c: min(windows(c, metric)))


def final(arm, metric="val/learner/pass_rate"):
    return by_model(arm, lambda c: c[metric][max(c[metric])])


def by_model(arm, of):
    return {seed: of(curve) for (a, seed), curve in runs.items() if a == arm and windows(curve, LENGTH)}


# %% [markdown]
# Two-sided 95 % t-intervals over models: of log-ratios, or of differences.

# %%
T95 = [0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262]


def interval(values):
    n, center = len(values), mean(values)
    if n < 2:
        return center, -math.inf, math.inf
    half = T95[n - 1] * math.sqrt(sum((v - center) ** 2 for v in values) / (n - 1) / n)
    return center, center - half, center + half


def judged(name, values, low, high, factor):
    if not values:
        print(f"{name}: no run yet")
        return
    center, left, right = interval([math.log(v) for v in values] if factor else values)
    if factor:
        center, left, right = (math.exp(v) if v < 700 else math.inf for v in (center, left, right))
    outcome = "met" if low < left and right < high else "not met" if right < low or left > high else "inconclusive"
    print(f"{name}: {center:.3g} ({left:.3g} to {right:.3g}, n = {len(values)}): {outcome}")


def ratio(name, a, b, low=0, high=math.inf):
    judged(name, [a[s] / b[s] for s in a if s in b], low, high, True)


def difference(name, a, b, low=-math.inf, high=math.inf):
    judged(name, [a[s] - b[s] for s in a if s in b], low, high, False)


# %%
print(f"{'arm':45}  n  length first, lowest, last   score first, last")
for arm in arms:
    if found := by_model(arm, lambda c: (windows(c, LENGTH)[0], min(windows(c, LENGTH)), mean(windows(c, LENGTH)[-5:]), windows(c, SCORE)[0], mean(windows(c, SCORE)[-5:]))):
        print(f"{arm:45} {len(found):2}  " + "  ".join(f"{sum(v) / len(found):7.3g}" for v in zip(*found.values())))

# %%
none = {(s, p): f"{s}, {p}, none" for s in ("impatient", "patient", "verbose") for p in ("easy", "medium", "hard", "mixed")}
base = none["impatient", "mixed"]
ratio("(a) primary: impatient, mixed: last over first above 3", last(base), first(base), low=3)
spread = {}
for end, of in ("first", first), ("last", last):
    lengths = [of(none[s, "medium"]) for s in ("impatient", "patient", "verbose")]
    spread[end] = {k: max(x[k] for x in lengths) - min(x[k] for x in lengths) for k in set.intersection(*map(set, lengths))}
ratio("(c) primary: medium, three starts: range of last over range of first lengths below 0.5", spread["last"], spread["first"], high=0.5)
growth = {p: {k: v / first(none["patient", p])[k] for k, v in last(none["patient", p]).items()} for p in ("easy", "hard")}
ratio("(d) primary: patient: growth with hard over growth with easy prompts above 1.2", growth["hard"], growth["easy"], low=1.2)
verbose = none["verbose", "mixed"]
ratio("(b) verbose, mixed: lowest over first below 0.9", lowest(verbose), first(verbose), high=0.9)
ratio("(b) verbose, mixed: last over lowest above 1.1", last(verbose), lowest(verbose), low=1.1)
patient = "patient, mixed, "
ratio("(e) limit 512 over none below 1", last(patient + "limit-512"), last(patient + "none"), high=1)
ratio("(e) truncated responses masked over limit 512 above 1", last(patient + "limit-512-masked"), last(patient + "limit-512"), low=1)
for kind in "mask", "weight":
    ratio(f"(f) lag 8: product as {kind} over no correction below 1", last(f"{patient}lag-8-product-{kind}"), last(patient + "lag-8"), high=1)
for kind in "geometric-mask", "mean-weight":
    ratio(f"(f) lag 8: {kind} over no correction within 1.1", last(f"{patient}lag-8-{kind}"), last(patient + "lag-8"), 1 / 1.1, 1.1)
kl = "verbose, medium, kl-0.01"
ratio("(g) KL loss, last over first above 1", last(kl, "actor/kl_loss"), first(kl, "actor/kl_loss"), low=1)
ratio("(g) length with KL, last over first below 1", last(kl), first(kl), high=1)
for method in "kl-0.01", "one-over-length", "dr-grpo":
    ratio(f"(g) {method} over none within 1.25", last(f"verbose, medium, {method}"), last(none["verbose", "medium"]), 1 / 1.25, 1.25)
for penalty in "uniform-1e-4", "group-0.1", "anchor-0.01", "preset-330":
    ratio(f"(h) {penalty} over no penalty below 1", last(patient + penalty), last(patient + "pool"), high=1)
difference("(h) pass rate, group penalty minus none, below 0", final(patient + "group-0.1"), final(patient + "pool"), high=0)
difference("(h) pass rate, anchor minus none, inside 0.05", final(patient + "anchor-0.01"), final(patient + "pool"), -0.05, 0.05)

# %% [markdown]
# Rewards and shares by length: the pass rate of the last evaluation by eighths of the limit, over models.

# %%
ends = [144 * k for k in range(1, 9)]
for label, of in ("before training", min), ("after training", max):
    rows = []
    for kind in "share", "pass_rate":
        metrics = [f"val/learner/{kind}_of_length/{end}" for end in ends]
        found = [[c[m].get(of(c["val/learner/pass_rate"]), math.nan) if m in c else math.nan for m in metrics] for (a, _), c in runs.items() if a == base]
        known = [[v for v in column if v == v] for column in zip(*found)]
        rows.append("  ".join(f"{sum(v) / len(v):.2f}" if v else "   -" for v in known))
    print(f"(i) impatient, mixed, {label}, by length up to {', '.join(map(str, ends))} tokens: share {rows[0]}; pass rate {rows[1]}")
