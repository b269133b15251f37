# rpm needs the group when it unpacks /etc/foliot/foliot.yaml.
getent group foliot >/dev/null || groupadd --system foliot
getent passwd foliot >/dev/null || useradd --system --gid foliot --home-dir /var/lib/foliot \
	--no-create-home --shell /usr/sbin/nologin --comment Foliot foliot
