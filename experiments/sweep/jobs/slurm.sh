#!/bin/sh
# The sweep {{.File}} in {{.Parts}} parts, as an array of jobs:
#     sbatch this-file
# A part that was stopped goes on where it was when it is submitted again, alone:
#     sbatch --array=3 this-file
# When all have ended:
#     simulate sweep merge {{shell .Out}}
#SBATCH --job-name={{.Name}}
#SBATCH --array=0-{{.Last}}
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=1G
#SBATCH --time=08:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --requeue
cd "${SLURM_SUBMIT_DIR:-.}" || exit 1
exec simulate sweep {{shell .File}} --out {{shell .Out}} --shard "$SLURM_ARRAY_TASK_ID/{{.Parts}}" --workers "${SLURM_CPUS_PER_TASK:-1}"
