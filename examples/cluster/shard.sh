#!/bin/sh
# One part of a sweep, on a cluster: divvy sweep with these arguments, for the part that the scheduler of the cluster gave to this job.
#
#   shard.sh DIR ARGUMENT..     the arguments of divvy sweep, without -o and --shard
#
# Rows go to DIR/N.csv. A job that is started again goes on where it was ended. When all have ended:
#
#   divvy sweep --merge DIR/*.csv -o all.csv
#
# The number of the part, and how many there are, is read from
#   Slurm        SLURM_ARRAY_TASK_ID, and of how many    sbatch --array=1-40 shard.sh DIR ..
#   Kubernetes   JOB_COMPLETION_INDEX, and SHARDS        kubernetes.yaml
#   others       SHARD                                   SHARD=3/40 shard.sh DIR ..
# With SHARDS=40 an array of Slurm may have some of the parts only: sbatch --export=ALL,SHARDS=40 --array=3,17 shard.sh DIR ..
#
# Exit codes: those of divvy sweep; 2 if there is no number.
#SBATCH --requeue
set -eu
[ $# -ge 2 ] || {
	echo "shard.sh: give a directory and the arguments of divvy sweep; the head of this file has examples" >&2
	exit 2
}
directory=$1
shift
if [ "${SHARD:-}" ]; then
	shard=$SHARD
elif [ "${SLURM_ARRAY_TASK_ID:-}" ]; then
	# Numbers that are not 1, 2, 3 to the last, as in --array=0-39, would leave out some points and refuse others.
	[ "${SHARDS:-}" ] || [ "${SLURM_ARRAY_TASK_MIN:-}/${SLURM_ARRAY_TASK_MAX:-}" = "1/${SLURM_ARRAY_TASK_COUNT:-}" ] || {
		echo "shard.sh: number the jobs from 1 without gaps, as in --array=1-40, or say how many parts there are: SHARDS=40" >&2
		exit 2
	}
	shard=$SLURM_ARRAY_TASK_ID/${SHARDS:-$SLURM_ARRAY_TASK_COUNT}
elif [ "${JOB_COMPLETION_INDEX:-}" ]; then
	[ "${SHARDS:-}" ] || {
		echo "shard.sh: set SHARDS to the number of completions of the Job" >&2
		exit 2
	}
	shard=$((JOB_COMPLETION_INDEX + 1))/$SHARDS
else
	echo "shard.sh: this is no job of an array of Slurm or Kubernetes; set SHARD, as in SHARD=3/40" >&2
	exit 2
fi
mkdir -p "$directory"
exec divvy sweep "$@" --shard "$shard" -o "$directory/${shard%/*}.csv" --resume --quiet
