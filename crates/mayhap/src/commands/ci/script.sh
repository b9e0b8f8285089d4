#!/usr/bin/env bash
# Written by `mayhap ci @NAME@`: records every test, analyses the traces, in shards if asked for, and reports what is new.
#
#   ./mayhap.sh                 all steps on this machine
#   ./mayhap.sh record          build, and record every test into traces/
#   ./mayhap.sh analyse 1/@SHARDS@     one shard of the traces, into stores/1
#   ./mayhap.sh report          one report of all shards: mayhap.{json,sarif,xml,html}; exit code 1 if something is new
#   ./mayhap.sh baseline        what was reported is known from now on
set -euo pipefail

record() {
  # What is there is of an earlier round, whose tests and shards may have been others.
  rm -rf traces stores
  @RECORD@
}

analyse() {
  mayhap corpus traces --shard "$1" --store "stores/${1%/*}" --fail-on never || test $? = 3
}

report() {
  @REPORT@
}

baseline() {
  cp mayhap.json mayhap-baseline.json
}

case "${1:-all}" in
  all) record; analyse 1/1; report ;;
  record | report | baseline) "$1" ;;
  analyse) analyse "$2" ;;
  *) echo "usage: $0 [record|analyse I/N|report|baseline]" >&2; exit 2 ;;
esac
