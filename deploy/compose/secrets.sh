#!/bin/sh
# Makes the secrets of the Compose files in the directory secrets, and keeps
# those that exist. Each file belongs to the user of its container: 65532
# Foliot, 999 Redis and PostgreSQL, 65534 Prometheus, 472 Grafana. Run it as root in this
# directory.
#
#   ./secrets.sh              all secrets that need no server
#   ./secrets.sh prometheus   a token for Prometheus, from a running server
#
# FOLIOT_IMAGE is the image. FOLIOT_HOST is the name or address by which other
# machines reach the server. Set both in .env: FOLIOT_IMAGE is not a setting of
# the command foliot, which refuses it as an exported variable.
set -eu
cd "$(dirname "$0")"
umask 077

[ "$(id -u)" = 0 ] || { echo "secrets.sh: only root can give files to the users of the containers: run it with sudo" >&2; exit 1; }
# setting prints a value of .env. It does not run the file as a script: this
# script runs as root, and .env may belong to another user.
setting() { if [ -f .env ]; then sed -n "s/^$1=//p" .env | tail -n 1 | tr -d "\"'"; fi; }
FOLIOT_IMAGE=${FOLIOT_IMAGE:-$(setting FOLIOT_IMAGE)}
FOLIOT_HOST=${FOLIOT_HOST:-$(setting FOLIOT_HOST)}
mkdir -p secrets
chmod 711 secrets # the users of the containers must reach their files

# keep writes standard input to a secret that belongs to a user.
keep() { # NAME USER
	cat >"secrets/$1.new"
	[ -s "secrets/$1.new" ] || { rm "secrets/$1.new"; echo "secrets.sh: could not make secrets/$1" >&2; exit 1; }
	chown "$2" "secrets/$1.new"
	chmod 400 "secrets/$1.new"
	mv "secrets/$1.new" "secrets/$1"
	echo "made secrets/$1"
}
missing() { [ ! -e "secrets/$1" ]; }
foliot() { ${FOLIOT:-docker run --rm "${FOLIOT_IMAGE:?set it in .env, for example to ghcr.io/foliot/foliot:1.2.3}"} "$@"; }
password() { od -An -N 24 -t x1 /dev/urandom | tr -d ' \n'; }

if [ "${1-}" = prometheus ]; then
	server=$(docker compose ps --services --status running | grep -m 1 '^foliot') || { echo "secrets.sh: no server runs: start one with docker compose up -d" >&2; exit 1; }
	if missing prometheus.token; then docker compose exec -T "$server" foliot token create --for operator --scope read --label prometheus | keep prometheus.token 65534; fi
	exit 0
fi

if missing operator.token; then foliot token generate | keep operator.token 65532; fi
if missing key.pem || missing cert.pem; then
	host=${FOLIOT_HOST:-localhost}
	case $host in *:*) kind=IP ;; *[!0-9.]*) kind=DNS ;; *) kind=IP ;; esac
	errors=$(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 -subj /CN=foliot \
		-addext "subjectAltName=DNS:foliot,DNS:localhost,$kind:$host" -keyout secrets/key.tmp -out secrets/cert.tmp 2>&1) ||
		{ echo "secrets.sh: could not make a certificate for $host: $errors" >&2; exit 1; }
	keep key.pem 65532 <secrets/key.tmp
	keep cert.pem 65532 <secrets/cert.tmp
	chmod 444 secrets/cert.pem # it is not secret: clients need it
	rm secrets/key.tmp secrets/cert.tmp
fi
if missing foliot.yaml || missing redis-users.acl; then
	redis=$(password)
	echo "store: redis://foliot:$redis@redis:6379" | keep foliot.yaml 65532
	keep redis-users.acl 999 <<ACL
user default off
user health on nopass -@all +ping
user foliot on >$redis resetkeys ~foliot:* resetchannels &foliot:* -@all +@hash +@sortedset +@stream +@connection -@admin -@dangerous +eval +evalsha +set +exists +pexpire +time +wait +spublish +ssubscribe +sunsubscribe +info +config|get +cluster|slots +cluster|shards
ACL
fi
if missing postgres.password || missing postgres-url.yaml; then
	postgres=$(password)
	echo "store: postgres://foliot:$postgres@postgres/foliot?search_path=foliot" | keep postgres-url.yaml 65532
	printf %s "$postgres" | keep postgres.password 999
fi
if missing grafana.password; then password | keep grafana.password 472; fi
