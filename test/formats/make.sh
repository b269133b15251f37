#!/usr/bin/env bash
# Makes the stores in testdata: test/formats/make.sh FOLIOT FORMAT [REDIS-PORT]
#
# FOLIOT is the binary of a version that writes the format. Without REDIS-PORT
# the result is a data directory, a backup of it and an export of it. With
# REDIS-PORT the result is a dump of the Redis on this port of loopback. That
# Redis must be empty and need no password. In both cases a list has the records
# as the binary lists them. The server is killed while an attempt is under way.
#
# Run this once for each new format, with the last commit that writes it. Needs
# jq, tar and curl.
set -euo pipefail
foliot=$1 format=$2 redis=${3:-}
out=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/testdata
work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null || true; rm -r "$work"' EXIT
cd "$work"
export FOLIOT_SERVER=http://127.0.0.1:18750

store=(--data "$work/data") name=directory-$format
if [ -n "$redis" ]; then store=(--store "redis://127.0.0.1:$redis" --node maker) name=redis-$format; fi
"$foliot" serve "${store[@]}" --listen 127.0.0.1:18750 --egress-allow 127.0.0.0/8 2>server.log & server=$!
pids+=("$server")
listen() { "$foliot" listen "$@" >/dev/null 2>&1 & pids+=("$!"); }
listen 127.0.0.1:19011
listen 127.0.0.1:19012 --status 500
listen 127.0.0.1:19013 --status 410
listen 127.0.0.1:19014 --delay 10m
has() { "$foliot" "$@" --help >/dev/null 2>&1; }
add() { "$foliot" add "$@" >/dev/null; }
until curl -sf "$FOLIOT_SERVER/readyz" >/dev/null; do :; done
until curl -s http://127.0.0.1:19014 -m 0.2 >/dev/null || [ $? = 28 ]; do :; done # the last receiver listens

large=$(printf '{"text": "%03000d"}' 0)
namespaces=(default)
if has namespace set; then
	namespaces+=(acme)
	"$foliot" namespace set acme --max-pending 1000 >/dev/null
	"$foliot" queue set mail --rate 5 --burst 9 --concurrency 2 >/dev/null
	"$foliot" queue pause mail >/dev/null
	"$foliot" queue set reports --max-attempts 7 --namespace acme >/dev/null
	add http://127.0.0.1:19011/acme --name waiting --at 2034-05-06T07:08:09Z --queue reports --namespace acme
	"$foliot" secret create >/dev/null
fi
add http://127.0.0.1:19011/wait --name waiting --at 2035-01-02T03:04:05Z --json '{"order": 42}' -H 'X-Team: blue' \
	--label team=blue --label kind=order --priority high --timeout 9s --max-attempts 5
add http://127.0.0.1:19011/large --name large --at 2036-01-02T03:04:05Z --json "$large" --queue mail --priority low
add http://127.0.0.1:19012/retry --name retrying --in 0s --json '{"order": 43}' --min-backoff 20h --max-backoff 24h
add http://127.0.0.1:19011/ok --name delivered --in 0s --json '{"order": 44}'
add http://127.0.0.1:19013/gone --name dead --in 0s --json '{"order": 45}' --label team=red
add http://127.0.0.1:19011/cancel --name cancelled --at 2035-01-02T03:04:05Z
"$foliot" cancel cancelled >/dev/null
if has cron add; then
	"$foliot" cron add yearly '30 12 24 12 *' http://127.0.0.1:19011/yearly --timezone Europe/Berlin --json '{"report": 1}' >/dev/null
	"$foliot" cron add paused --every 8760h http://127.0.0.1:19011/paused >/dev/null
	"$foliot" cron pause paused >/dev/null
fi
if [[ $("$foliot" add --help) == *--kind* ]]; then
	add --kind order.close --name call --at 2035-01-02T03:04:05Z --args '{"order": 46}'
fi
if has token create; then
	(umask 077; "$foliot" token create --for operator --scope admin >token 2>/dev/null)
	export FOLIOT_TOKEN_FILE=$work/token
	"$foliot" token create --for acme --scope write --label shop >/dev/null
fi

state() { "$foliot" get "$1" -o json | jq -r .state; }
attempts() { "$foliot" get "$1" -o json | jq -r '.attempts | length'; }
until [ "$(state delivered) $(state dead) $(attempts retrying)" = "delivered dead 1" ]; do :; done
if [ -z "$redis" ]; then "$foliot" export "$out/export-$format.ndjson" >/dev/null; fi
if [ -z "$redis" ] && has backup; then "$foliot" backup "$out/backup-$format.tar" >/dev/null; fi
add http://127.0.0.1:19014/run --name running --in 0s --json '{"order": 47}' --timeout 10m
until [ "$(state running)" = running ]; do :; done
add http://127.0.0.1:19011/last --name last --at 2035-01-02T03:04:05Z # a create is synced, and so is the claim before it

ns() { if [ "${#namespaces[@]}" -gt 1 ]; then echo --namespace "$1"; fi; }
{
	for n in "${namespaces[@]}"; do
		# shellcheck disable=SC2046
		for task in $("$foliot" ls -o json -n 0 $(ns "$n") | jq -r .name | sort); do
			"$foliot" get "$task" -o json $(ns "$n")
		done | jq -cS --arg n "$n" '{what: "task", namespace: $n, name, id, queue, priority, state, reason: (.reason // ""),
			labels: (.labels // {}), url: (.http.url // ""), method: (.http.method // ""), headers: (.http.headers // {}),
			kind: (.work.kind // ""), body: ((.http.body // .work.args) as $b | if $b then $b | tojson else "" end), timeout,
			max_attempts: .retry.max_attempts, due: (.next_at // .due_at), created: .created_at, finished: (.finished_at // ""),
			attempts: [(.attempts // [])[] | {number, status: (.status // 0), started: .started_at}]}'
		if has cron ls; then
			"$foliot" cron ls -o json $(ns "$n") | jq -cS --arg n "$n" '{what: "schedule", namespace: $n, name, id, cron: (.cron // ""),
				every: (.every // ""), timezone: (.timezone // ""), paused: (.paused // false), url: .task.http.url}'
		fi
		if has queue ls; then
			"$foliot" queue ls -o json $(ns "$n") | jq -cS --arg n "$n" 'select(.version > 0) | {what: "queue", namespace: $n, name,
				paused, rate: (.rate // 0), burst: (.burst // 0), concurrency: (.concurrency // 0),
				max_attempts: (.retry.max_attempts // 0)}'
		fi
	done
	if has namespace ls; then
		"$foliot" namespace ls -o json | jq -cS 'select(.version > 0) | {what: "namespace", name, max_pending: (.max_pending // 0)}'
		"$foliot" token ls -o json | jq -cS '{what: "token", id, namespace, scope, label: (.label // "")}'
		"$foliot" secret ls -o json | jq -cS '{what: "secret", id}'
	fi
} >"$out/$name.jsonl"

if [ -n "$redis" ]; then
	redis-cli -p "$redis" --rdb "$out/$name.rdb" >/dev/null 2>&1
	exit
fi
kill -9 "$server"
wait "$server" 2>/dev/null || true
tar --sort=name --owner=0 --group=0 --numeric-owner --sparse -czf "$out/$name.tar.gz" -C data .
if [ -f "$out/backup-$format.tar" ]; then gzip -9nf "$out/backup-$format.tar"; fi
