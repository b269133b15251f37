#!/bin/bash
# Installs, upgrades and removes the packages in a root directory that
# debootstrap makes. Needs root, debootstrap, lintian and rpm. `make
# package-test` runs it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
	echo "packaging: $*" >&2
	exit 1
}
[ "$(id -u)" = 0 ] || fail "chroot and debootstrap need root: run make package-test as root"
for tool in debootstrap lintian rpm shellcheck curl; do
	command -v "$tool" >/dev/null || fail "$tool is not installed: apt-get install $tool"
done

work=$(mktemp -d)
root=$work/root
server=
cleanup() {
	if [ -n "$server" ]; then kill -9 "$server" 2>/dev/null || true; fi
	umount "$root/proc" "$root/var/lib/foliot" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap cleanup EXIT
step() { echo "packaging: $*"; }
in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
expect() { # DESCRIPTION WANT GOT
	[ "$2" = "$3" ] || fail "$1: want '$2', got '$3'"
}
state() { in_root stat -c '%a %U:%G' "$1"; }
gone() { if [ -e "$root$1" ] || [ -L "$root$1" ]; then fail "$1 is still there"; fi; }

step "checking the scripts"
shellcheck --severity warning packaging/test.sh packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm
shellcheck --severity warning --shell sh packaging/rpm/*.sh

# Two versions of one commit: the Go tool takes the version from the tag.
architecture=$(dpkg --print-architecture)
(cd tools/release && go build -o "$work/release" .)
git clone --quiet . "$work/source"
for version in 0.0.1 0.0.2; do
	step "building version $version"
	(cd "$work/source" && git tag | xargs -r git tag -d >/dev/null && git tag "v$version")
	"$work/release" -repository "$work/source" -out "$work/$version" -snapshot -platforms linux/amd64,linux/arm64
done
old=$work/0.0.1/foliot_0.0.1_linux_$architecture
new=$work/0.0.2/foliot_0.0.2_linux_$architecture

step "checking the contents of all packages"
for deb in "$work"/0.0.2/*.deb; do
	lintian --fail-on error,warning --tag-display-limit 0 "$deb"
done
for rpm in "$work"/0.0.2/*.rpm; do
	rpm -K --nosignature "$rpm" >/dev/null || fail "$rpm is damaged"
	listed=$(rpm -qp --nosignature --queryformat '[%{FILEMODES:octal} %{FILEUSERNAME}:%{FILEGROUPNAME} %{FILEFLAGS:fflags} %{FILENAMES}\n]' "$rpm")
	for line in '100755 root:root  /usr/bin/foliot' '100640 root:foliot cn /etc/foliot/foliot.yaml' '100644 root:root  /usr/lib/systemd/system/foliot.service' '100644 root:root d /usr/share/doc/foliot/grafana/alerts.yaml'; do
		grep -qxF "$line" <<<"$listed" || fail "$rpm lacks '$line': $listed"
	done
done

step "making a root directory"
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | grep -v security | head -n 1)
suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
debootstrap --variant=minbase --include=systemd-standalone-sysusers "$suite" "$root" "$mirror" >"$work/debootstrap.log" ||
	{ tail "$work/debootstrap.log"; fail "debootstrap failed"; }
mount -t proc proc "$root/proc"

calls=$root/run/calls
called() { # TEXT
	grep -q -- "$1" "$calls" || fail "the scripts did not call systemctl with '$1': $(cat "$calls")"
}
not_called() {
	if [ -e "$calls" ] && grep -q -- "$1" "$calls"; then fail "the scripts called systemctl with '$1': $(cat "$calls")"; fi
}

step "installing the deb where systemd does not run"
cp "$old.deb" "$root/old.deb"
cp "$new.deb" "$root/new.deb"
in_root dpkg -i /old.deb
expect "the user" "foliot:/var/lib/foliot:/usr/sbin/nologin" "$(in_root getent passwd foliot | cut -d: -f1,6,7)"
expect "the configuration" "640 root:foliot" "$(state /etc/foliot/foliot.yaml)"
expect "the program" "755 root:root" "$(state /usr/bin/foliot)"
expect "the unit" "644 root:root" "$(state /usr/lib/systemd/system/foliot.service)"
[ -L "$root/etc/systemd/system/multi-user.target.wants/foliot.service" ] || fail "the unit is not enabled"
expect "the version" "v0.0.1" "$(in_root foliot --version | cut -d' ' -f2)"
in_root dpkg --verify foliot

step "the server delivers a callback as its user"
start_server() {
	# systemd makes this directory because of StateDirectory.
	in_root install -d -m 700 -o foliot -g foliot /var/lib/foliot
	command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/foliot.service")
	# shellcheck disable=SC2086 # the command is several words
	chroot --userspec foliot:foliot "$root" $command --listen 127.0.0.1:0 >"$work/server.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		url=$(grep -m 1 -o 'http://127.0.0.1:[0-9]*' "$work/server.log" || true)
		if [ -n "$url" ] && curl -sf "$url/readyz" >/dev/null; then return; fi
		kill -0 "$server" 2>/dev/null || break
		sleep 0.1
	done
	cat "$work/server.log" >&2
	fail "the server did not start"
}
stop_server() {
	kill "$server"
	wait "$server" || fail "the server ended with code $?"
	server=
}
deliver() {
	in_root timeout 60 foliot listen 127.0.0.1:0 --server "$url" --try 1s >"$work/callback" 2>&1 ||
		{ cat "$work/callback" "$work/server.log" >&2; fail "no callback arrived"; }
}
start_server
expect "the user of the server" foliot "$(in_root stat -c %U "/proc/$server")"
deliver
in_root foliot add --server "$url" http://127.0.0.1:9/later --in 24h --name later >/dev/null
stop_server
expect "the data directory" "700 foliot:foliot" "$(state /var/lib/foliot)"

step "upgrading the deb where systemd runs"
# With /run/systemd/system the scripts believe that systemd runs. This systemctl
# writes down their calls.
mkdir -p "$root/run/systemd/system"
cat >"$root/usr/bin/systemctl" <<'SCRIPT'
#!/bin/sh
echo "systemctl $*" >>/run/calls
case "$*" in
*is-active* | *is-enabled*) exit 0 ;;
esac
SCRIPT
chmod 755 "$root/usr/bin/systemctl"
echo 'log-format: json' >>"$root/etc/foliot/foliot.yaml"
chmod 600 "$root/etc/foliot/foliot.yaml"
in_root dpkg -i --force-confdef /new.deb
called daemon-reload
called 'try-restart foliot.service'
not_called ' start foliot.service'
expect "the version" "v0.0.2" "$(in_root foliot --version | cut -d' ' -f2)"
expect "a changed mode" "600 root:foliot" "$(state /etc/foliot/foliot.yaml)"
grep -q '^log-format: json' "$root/etc/foliot/foliot.yaml" || fail "the upgrade replaced the configuration"
chmod 640 "$root/etc/foliot/foliot.yaml"
start_server
in_root foliot get later --server "$url" >/dev/null || fail "the upgrade lost a task"
deliver
stop_server

step "removing, installing again and purging the deb"
rm "$calls"
in_root dpkg -r foliot
called 'stop foliot.service'
gone /usr/bin/foliot
[ -e "$root/etc/foliot/foliot.yaml" ] || fail "the removal deleted the configuration"
[ -d "$root/var/lib/foliot" ] || fail "the removal deleted the data"
in_root dpkg -i /new.deb
[ -L "$root/etc/systemd/system/multi-user.target.wants/foliot.service" ] || fail "the unit is not enabled again"
gone /etc/systemd/system/foliot.service
echo secret >"$root/etc/foliot/operator.token"
mkdir -p "$root/etc/foliot/settings" && touch "$root/etc/foliot/settings/nightly.yaml"
in_root dpkg -P foliot
for path in /etc/foliot /var/lib/foliot /etc/systemd/system/multi-user.target.wants/foliot.service /etc/systemd/system/foliot.service; do
	gone "$path"
done

step "purging the deb with the data on a volume, and behind a link"
in_root dpkg -i /new.deb
mkdir -p "$root/var/lib/foliot"
mount -t tmpfs tmpfs "$root/var/lib/foliot"
touch "$root/var/lib/foliot/data"
in_root dpkg -P foliot || fail "the purge failed because the data directory is a mount"
[ ! -e "$root/var/lib/foliot/data" ] || fail "the purge left the data on the volume"
umount "$root/var/lib/foliot"
rmdir "$root/var/lib/foliot"
in_root dpkg -i /new.deb
mkdir "$root/srv/foliot"
touch "$root/srv/foliot/data"
ln -s /srv/foliot "$root/var/lib/foliot"
in_root dpkg -P foliot
gone /var/lib/foliot
[ -e "$root/srv/foliot/data" ] || fail "the purge deleted files behind the link"
expect "the state of the package" "" "$(in_root dpkg -l foliot 2>/dev/null | sed -n 's/^\(.[^n]\) .*/\1/p')"

step "a new installation where systemd runs does not start the server"
rm "$calls"
in_root dpkg -i /new.deb
not_called ' start '
not_called restart
in_root dpkg -P foliot
in_root userdel foliot

step "installing, upgrading and removing the rpm"
# The root directory has no rpm: its dependencies are packages of Debian.
rpm_in_root() { rpm --root "$root" --nodeps --nosignature "$@"; }
rm -f "$calls"
rpm_in_root -i "$old.rpm"
called 'preset foliot.service'
not_called start
expect "the user" "foliot:/var/lib/foliot:/usr/sbin/nologin" "$(in_root getent passwd foliot | cut -d: -f1,6,7)"
expect "the configuration" "640 root:foliot" "$(state /etc/foliot/foliot.yaml)"
start_server
deliver
stop_server
echo 'log-format: json' >>"$root/etc/foliot/foliot.yaml"
rpm_in_root -U "$new.rpm"
called 'try-restart foliot.service'
expect "the version" "v0.0.2" "$(in_root foliot --version | cut -d' ' -f2)"
grep -q '^log-format: json' "$root/etc/foliot/foliot.yaml" || fail "the upgrade replaced the configuration"
rpm_in_root -e foliot
called 'stop foliot.service'
gone /usr/bin/foliot
[ -d "$root/var/lib/foliot" ] || fail "the removal deleted the data"
[ -e "$root/etc/foliot/foliot.yaml.rpmsave" ] || fail "the removal deleted the changed configuration"

echo "packaging: all checks passed"
