if command -v systemctl >/dev/null; then
	if [ -d /run/systemd/system ]; then systemctl daemon-reload || true; fi
	# A preset of the administrator decides whether a new server is enabled.
	if [ "$1" -eq 1 ]; then systemctl --no-reload preset foliot.service || true; fi
fi
