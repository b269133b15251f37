#!/bin/bash
# Installs Foliot in empty root directories that debootstrap makes: from the
# archive, the deb, the image and a clone. It runs the commands of
# docs/install.md and of README.md up to the first callback, and prints how many
# seconds each takes.
#
# Three things differ from the machine of a user. The release comes from a web
# server on loopback. The command of the unit runs without systemd. The image is
# unpacked, and its programs run in a chroot.
#
# Needs root, debootstrap, python3 and jq. `make install-test` runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
	echo "install-test: $*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail "chroot and debootstrap need root: run make install-test as root"
for tool in debootstrap python3 jq curl; do
	command -v "$tool" >/dev/null || fail "$tool is not installed: apt-get install $tool"
done
if curl -s -o "/dev/null" http://127.0.0.1:8750/; then fail "another program uses port 8750: stop it first"; fi

work=$(mktemp -d)
root=
server=
web=
unmount() { if [ -n "$root" ]; then umount "$root/proc" 2>/dev/null || true; fi; }
end_server() {
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" 2>/dev/null || true
		server=
	fi
}
cleanup() {
	end_server
	if [ -e "$root/run/foliot.pid" ]; then kill "$(cat "$root/run/foliot.pid")" 2>/dev/null || true; fi
	if [ -n "$web" ]; then kill "$web" 2>/dev/null || true; fi
	unmount
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT

seconds() { date +%s.%N; }
since() { awk -v a="$1" -v b="$(seconds)" 'BEGIN { printf "%.1f", b - a }'; }

# enter makes the root directory of a route. A route is one way to install
# Foliot.
enter() { # ROUTE
	root=$work/$1
	cp -a "$work/base" "$root"
	mount -t proc proc "$root/proc"
	echo "install-test: $1"
	route_began=$(seconds)
}
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "${variables[@]}" "$@"; }
variables=()

# run runs a command of a user in the root directory, and prints how many
# seconds it takes.
run() { # COMMAND
	local began
	began=$(seconds)
	in_root sh -ec "cd /root; $1" >"$work/output" 2>&1 || { tail -n 30 "$work/output" >&2; fail "the command failed: $1"; }
	printf '%8s s  %s\n' "$(since "$began")" "$1"
}
# serve starts the server, and waits until it is ready.
serve() { # COMMAND of the user, then the command that runs here
	local began shown=$1
	shift
	began=$(seconds)
	"$@" >"$work/server.log" 2>&1 &
	server=$!
	until curl -sf http://127.0.0.1:8750/readyz >/dev/null; do
		kill -0 "$server" 2>/dev/null || { cat "$work/server.log" >&2; fail "the server did not start"; }
		sleep 0.05
	done
	printf '%8s s  %s\n' "$(since "$began")" "$shown"
}
# documented prints a code block of a section of a page in docs.
page=install.md
documented() { # SECTION LANGUAGE NUMBER
	awk -v section="## $1" -v fence="\`\`\`$2" -v number="$3" '
		/^## / { inside = $0 == section }
		inside { line = $0; sub(/^ +/, "", line) }
		inside && line == "```" { open = 0 }
		inside && open { sub("^" indent, ""); print }
		inside && line == fence && ++seen == number { open = 1; match($0, /^ */); indent = substr($0, 1, RLENGTH) }
	' "docs/$page" | sed "s/1\.2\.3/$version/g; s/linux_amd64/linux_$architecture/g"
}
# run_documented runs a code block of a section of a page in docs.
run_documented() { # SECTION NUMBER
	local command
	command=$(documented "$1" sh "$2" | sed 's/--dry-run$/& || test $? = 8/') # 8: it found differences
	[ -n "$command" ] || fail "docs/$page has no block $2 in the section $1"
	run "$command"
}
leave() { # ROUTE
	grep -q 'attempt 1' "$work/output" || { cat "$work/output" >&2; fail "$1: no callback arrived"; }
	grep 'attempt 1' "$work/output" | sed 's/^/            /'
	total=$(since "$route_began")
	summary+=("$(awk -v n="$1" -v s="$total" 'BEGIN { printf "%-8s %6.1f s = %.1f min", n, s, s / 60 }')")
	end_server
	if [ -z "${keep-}" ]; then leave_root; fi
}
leave_root() {
	unmount
	rm -rf --one-file-system "$root"
	root=
}
summary=()

echo "install-test: building the release, the image and an empty root directory"
version=0.0.1
architecture=$(dpkg --print-architecture)
git clone --quiet . "$work/source"
(cd "$work/source" && git tag | xargs -r git tag -d >/dev/null && git tag "v$version")
(cd tools/release && go build -buildvcs=false -o "$work/release" .)
"$work/release" -repository "$work/source" -out "$work/dist/v$version" -snapshot -platforms "linux/$architecture" >"$work/build.log" 2>&1 ||
	{ tail "$work/build.log" >&2; fail "the release could not be built"; }
(cd tools/image && go run -buildvcs=false . -root "$work/source" -out image -version "$version") >"$work/build.log" 2>&1 ||
	{ tail "$work/build.log" >&2; fail "the image could not be built"; }
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase "$suite" "$work/base" "$mirror" >"$work/build.log" || { tail "$work/build.log" >&2; fail "debootstrap failed"; }
cp /etc/resolv.conf /etc/hosts "$work/base/etc/"
echo 'APT::Get::Assume-Yes "true";' >"$work/base/etc/apt/apt.conf.d/90yes" # as a user that confirms
python3 -m http.server --bind 127.0.0.1 --directory "$work/dist" 8751 >/dev/null 2>&1 &
web=$!

enter archive
name=foliot_${version}_linux_$architecture
run 'apt-get update && apt-get install -y --no-install-recommends ca-certificates curl'
run "for file in $name.tar.gz $name.cdx.json checksums.txt; do curl -fLO http://127.0.0.1:8751/v$version/\$file; done"
run 'sha256sum --check --ignore-missing checksums.txt'
run "tar xzf $name.tar.gz"
run "install -m 755 $name/foliot /usr/local/bin/"
serve 'foliot serve' chroot "$root" sh -c 'cd /root; exec foliot serve'
run 'foliot listen --try 3s --count 1'
leave archive

enter deb
# These scripts replace sudo and systemctl, so that the commands of the
# documentation run unchanged.
cat >"$root/usr/bin/sudo" <<'SCRIPT'
#!/bin/sh
if [ "$1" = -u ]; then exec setpriv --reuid "$2" --regid "$2" --clear-groups sh -c 'shift 2; HOME=/nonexistent exec "$@"' sudo "$@"; fi
exec env "$@"
SCRIPT
cat >"$root/usr/local/bin/systemctl" <<'SCRIPT'
#!/bin/bash
# Stops the server. Unless it must only stop, runs the command of the unit as
# its user, and waits until it listens.
[[ "$*" == *"start foliot" || "$*" == "stop foliot" ]] || exit 0
start-stop-daemon --stop --quiet --oknodo --retry 30 --pidfile /run/foliot.pid
if [[ "$*" == "stop foliot" ]]; then exit 0; fi
install -d -m 700 -o foliot -g foliot /var/lib/foliot
rm -f /run/foliot.log
read -r program arguments < <(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/foliot.service)
start-stop-daemon --start --background --make-pidfile --pidfile /run/foliot.pid --chuid foliot --output /run/foliot.log --exec "$program" -- $arguments
for _ in $(seq 200); do
	if grep -q '^listening' /run/foliot.log; then exit 0; fi
	sleep 0.05
done
cat /run/foliot.log >&2
exit 1
SCRIPT
chmod 755 "$root/usr/bin/sudo" "$root/usr/local/bin/systemctl"
run 'apt-get update && apt-get install -y --no-install-recommends ca-certificates curl'
run "for file in $name.deb checksums.txt; do curl -fLO http://127.0.0.1:8751/v$version/\$file; done"
run 'sha256sum --check --ignore-missing checksums.txt'
run_documented Package 1
run 'printf "egress-allow: [127.0.0.1/32]\n" >> /etc/foliot/foliot.yaml; systemctl restart foliot'
run 'FOLIOT_TOKEN_FILE=/etc/foliot/operator.token foliot listen --try 3s --count 1'
keep=1 leave deb

echo "install-test: a server for other machines, after the deb"
echo '127.0.0.1 timers.example' >>"$root/etc/hosts"
run 'apt-get install -y --no-install-recommends openssl'
run_documented 'A server for other machines' 1
sed -i '/^egress-allow/d' "$root/etc/foliot/foliot.yaml"
documented 'A server for other machines' yaml 1 >>"$root/etc/foliot/foliot.yaml"
run_documented 'A server for other machines' 2
run_documented 'A server for other machines' 3
run 'foliot listen --try 3s --count 1'
grep -q 'attempt 1' "$work/output" || fail "no callback arrived"
for block in 4 5 6 7; do run_documented 'A server for other machines' "$block"; done
run 'curl -sf --cacert /etc/foliot/ca.pem -H "Authorization: Bearer $(cat foliot-token)" https://timers.example:8750/metrics | grep -c "^foliot_"'
run '/etc/cron.daily/foliot && ls /var/backups/foliot/$(date +%F).tar && foliot get backup-missing'
page=operations.md
run 'mv /var/backups/foliot/first.tar /var/backups/foliot/2026-11-20.tar'
run_documented Backups 2
run_documented Backups 3
run 'sed -i "s/^listen:.*/listen: 127.0.0.1:8750/" /etc/foliot/foliot.yaml'
run_documented Backups 4
run 'foliot context ls && foliot cron get nightly-report --namespace shop --context main'
run_documented 'Opening the server to other machines' 3
kill "$(cat "$root/run/foliot.pid")"
leave_root

echo "install-test: image"
route_began=$(seconds)
root=$work/image
began=$(seconds)
mkdir -p "$root" "$work/archive"
tar xf "$work/source/image/foliot-image-$architecture.tar" -C "$work/archive"
jq -r '.[0].Layers[]' "$work/archive/manifest.json" | while read -r layer; do tar xzf "$work/archive/$layer" -C "$root" --numeric-owner --same-owner -p; done
settings=$work/archive/$(jq -r '.[0].Config' "$work/archive/manifest.json")
mapfile -t variables < <(jq -r '.config.Env[]' "$settings")
mapfile -t entry < <(jq -r '.config.Entrypoint[], .config.Cmd[]' "$settings")
printf '%8s s  %s\n' "$(since "$began")" "docker load -i foliot-image-$architecture.tar"
user=$(jq -r '.config.User' "$settings")
shown() { # COMMAND of the user, then the command that runs here
	local began shown=$1
	shift
	began=$(seconds)
	"$@" >"$work/output" 2>&1 || { cat "$work/output" >&2; fail "the command failed: $shown"; }
	printf '%8s s  %s\n' "$(since "$began")" "$shown"
}
inside=("$(command -v chroot)" --userspec "${user%%:*}:${user%%:*}" "$root")
program=${entry[0]}
shown 'docker run --rm $image token generate > operator.token' env -i "${variables[@]}" "${inside[@]}" "$program" token generate
install -m 400 -o "${user%%:*}" "$work/output" "$root/run-operator.token"
variables+=(FOLIOT_BOOTSTRAP_TOKEN_FILE=/run-operator.token FOLIOT_EGRESS_ALLOW=127.0.0.1/32 FOLIOT_LISTEN=127.0.0.1:8750)
serve 'docker run -d -e FOLIOT_BOOTSTRAP_TOKEN_FILE=… $image' env -i "${variables[@]}" "${inside[@]}" "${entry[@]}"
shown 'docker exec foliot foliot health' env -i "${variables[@]}" "${inside[@]}" "$program" health
shown 'docker exec -e FOLIOT_TOKEN_FILE=… foliot foliot listen --try 3s' \
	env -i "${variables[@]}" FOLIOT_TOKEN_FILE=/run-operator.token "${inside[@]}" "$program" listen --try 3s --count 1
leave image
variables=()

enter clone
run 'apt-get update && apt-get install -y --no-install-recommends ca-certificates git make'
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" # a proxy of this machine may have its own authority
began=$(seconds)
cp -a "$(go env GOROOT)" "$root/usr/local/go"
printf '%8s s  %s\n' "$(since "$began")" 'tar -C /usr/local -xzf go1.26.linux-amd64.tar.gz (copied here)'
cp -a "$work/source" "$root/source.git"
variables=(PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin GOFLAGS=-buildvcs=false)
run 'git clone -q /source.git foliot'
run 'cd foliot && make build'
serve 'bin/foliot serve' chroot "$root" sh -c 'cd /root/foliot; exec bin/foliot serve'
run 'foliot/bin/foliot listen --try 3s --count 1'
leave clone

echo "install-test: all callbacks arrived; the time from the empty root directory to the callback:"
printf '  %s\n' "${summary[@]}"
