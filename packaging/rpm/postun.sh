if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	if [ "$1" -ge 1 ]; then systemctl try-restart foliot.service || true; fi
fi
