#!/bin/sh
# {{.Title}}, as an array of {{.Parts}} jobs, and a job that puts the parts
# together when all of them have ended well:
#     sh this-file
# A part that was cancelled goes on where it was when it is submitted again, alone:
#     sbatch --array=3 this-file
#SBATCH --job-name={{.Name}}
#SBATCH --array=0-{{.Last}}
{{- with .Partition}}
#SBATCH --partition={{.}}
{{- end}}
{{- with .Account}}
#SBATCH --account={{.}}
{{- end}}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={{.CPUs}}
#SBATCH --mem={{.Memory}}
#SBATCH --time={{.Time}}
#SBATCH --signal=B:USR1@60
#SBATCH --requeue
#SBATCH --open-mode=append

if [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then # not in a job: submit
    parts=$(sbatch --parsable "$0") || exit 1
    echo "parts: $parts"
    exec sbatch --dependency="afterok:${parts%%;*}" --kill-on-invalid-dep=yes --job-name={{.Name}}-merge{{with .Partition}} --partition={{.}}{{end}}{{with .Account}} --account={{.}}{{end}} \
        --ntasks=1 --mem={{.Memory}} --time={{.Time}} --wrap {{shell .Merge}}
fi

cd "${SLURM_SUBMIT_DIR:-.}" || exit 1
# Before the time limit Slurm sends USR1 to this shell: the part ends in order, and is queued
# again to go on where it was. TERM (scancel, preemption) reaches the part by itself.
limit=
trap 'limit=yes; kill -TERM "$part"' USR1
trap : TERM
simulate sweep {{.Words}} --out {{shell .Out}} --shard "$SLURM_ARRAY_TASK_ID/{{.Parts}}" --workers "${SLURM_CPUS_PER_TASK:-1}" &
part=$!
while :; do # a signal ends wait early
    wait "$part"
    status=$?
    kill -0 "$part" 2>/dev/null || break
done
if [ -n "$limit" ] && [ "$status" -eq 130 ]; then
    echo "the time limit is near: queued again" >&2
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"
fi
exit "$status"
