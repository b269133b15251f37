#!/bin/sh
# Measures the creates and requests a second of the clients for TypeScript and
# Python, with and without batching, against foliot serve on loopback. It takes
# about a minute and ends by itself. SECONDS_EACH and CALLERS change it.
# Run it from the root of the repository: bench/clients/run.sh
set -eu
export SECONDS_EACH="${SECONDS_EACH:-5}" CALLERS="${CALLERS:-64}"
dir=$(mktemp -d)
server=
trap 'test -z "$server" || { kill "$server"; wait "$server" || true; }; rm -rf "$dir"' EXIT INT TERM

go build -o "$dir/foliot" ./cmd/foliot
mkdir "$dir/typescript"
cp -r clients/typescript/src clients/typescript/package.json clients/typescript/package-lock.json clients/typescript/tsconfig.json "$dir/typescript"
(cd "$dir/typescript" && npm ci --silent --no-audit --no-fund && npx tsc -p .)
cp bench/clients/throughput.mjs "$dir/typescript"

unset FOLIOT_TOKEN FOLIOT_NAMESPACE FOLIOT_CONTEXT
"$dir/foliot" serve --listen 127.0.0.1:0 --data "$dir/data" >"$dir/log" 2>&1 &
server=$!
tries=0
until FOLIOT_SERVER=$(sed -n 's/^listening on \(http:[^ ]*\).*/\1/p' "$dir/log") && test -n "$FOLIOT_SERVER"; do
	tries=$((tries + 1))
	test "$tries" -lt 100 || { cat "$dir/log"; exit 1; }
	sleep 0.1
done
export FOLIOT_SERVER

printf '%-12s %-9s %12s %12s\n' client batching creates/s requests/s
node "$dir/typescript/throughput.mjs"
PYTHONPATH=clients/python/src python3 bench/clients/throughput.py
