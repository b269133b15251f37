if [ "$1" -eq 0 ] && command -v systemctl >/dev/null; then
	systemctl --no-reload disable foliot.service || true
	if [ -d /run/systemd/system ]; then systemctl stop foliot.service || true; fi
fi
