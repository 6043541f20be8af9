# %% [markdown]
# # Rank the settings of a sweep
#
# A notebook as text: Jupyter opens it with jupytext, and editors show its cells. It also runs as it is:
#
#     SWEEP=runs/steps FACTOR=correction.weights BASELINE=none python3 experiments/study/ranking.py
#
# It needs pandas, and matplotlib for the picture.

# %%
import os

import pandas as pd

folder = os.environ.get("SWEEP", "runs/steps")
factor = os.environ.get("FACTOR", "correction.weights")
baseline = os.environ.get("BASELINE", "none")
figure = os.environ.get("FIGURE", "mean")  # of runs.csv: the metric's mean over the run, or start, final, peak, gap/k3, ...

runs = pd.read_csv(f"{folder}/runs.csv", dtype={factor: str}, keep_default_na=False, na_values=[""])
runs[["run", factor, "seed", "status", "metric", figure]]

# %% [markdown]
# Differences are paired: a setting and the baseline with the same seed. The bars are standard errors over seeds, no
# significance test: comparisons.csv of the same folder has intervals and p of the program's own paired test.

# %%
table = runs.pivot_table(index="seed", columns=factor, values=figure)
gain = table.drop(columns=baseline).sub(table[baseline], axis=0)
ranking = pd.DataFrame({"gain": gain.mean(), "standard error": gain.sem(), "seeds": gain.count()}).sort_values("gain", ascending=False)
of = f" of {runs['metric'].iloc[0]}" if figure in ("start", "final", "mean", "peak", "drawdown") else ""
print(f"{figure}{of}, minus that of {baseline} ({table[baseline].mean():.4g})")
print(ranking.to_string())

# %%
try:
    import matplotlib.pyplot as plt
except ImportError:
    print("no matplotlib: no picture")
else:
    ax = ranking[::-1].plot.barh(y="gain", xerr="standard error", legend=False, figsize=(6, 1 + 0.3 * len(ranking)))
    ax.set_xlabel(f"gain in {figure} over {baseline}")
    ax.axvline(0, color="black", linewidth=0.8)
    plt.tight_layout()
    plt.savefig(f"{folder}/ranking.png")
