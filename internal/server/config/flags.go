package config

import "time"

// Flags is the only definition of a server's settings. From it come the flags
// and their variables, the keys of the configuration file, `foliot config`,
// completion, the man page and docs/configuration.md. A default is in its tag
// only, never in the help text.
type Flags struct {
	Config fileFlag `env:"FOLIOT_CONFIG" group:"serve-file" placeholder:"FILE" file:"-" help:"Read settings from this YAML file, unless a flag or a variable sets them. Its keys are the names of the flags."`

	Listen             string   `default:"127.0.0.1:8750" env:"FOLIOT_LISTEN" group:"serve-listen" placeholder:"HOST:PORT" help:"The address to listen on. Without a host: loopback only. Port 0 takes a free port. To listen beyond loopback, create an access token first."`
	Host               []string `env:"FOLIOT_HOST" group:"serve-listen" placeholder:"NAME" help:"Answer requests for this host name too, for example the name that a proxy sends. Requests for an address or localhost are always answered."`
	TLSCert            string   `env:"FOLIOT_TLS_CERT" group:"serve-listen" placeholder:"FILE" help:"Use TLS and HTTP/2 with the certificate in this PEM file, which must contain the intermediate certificates too. It is read again when it changes, and on SIGHUP."`
	TLSKey             string   `env:"FOLIOT_TLS_KEY" group:"serve-listen" placeholder:"FILE" help:"The PEM file with the private key of --tls-cert."`
	TLSClientCA        string   `env:"FOLIOT_TLS_CLIENT_CA" group:"serve-listen" placeholder:"FILE" help:"Answer only clients whose certificate is signed by an authority in this PEM file."`
	TrustedProxy       []string `env:"FOLIOT_TRUSTED_PROXY" group:"serve-listen" placeholder:"CIDR" help:"Trust the proxies at these addresses. They send the client's address (Forwarded, X-Forwarded-For), and must use TLS to clients."`
	BootstrapTokenFile string   `env:"FOLIOT_BOOTSTRAP_TOKEN_FILE" group:"serve-listen" placeholder:"FILE" help:"Make the token in this file the first token of the store: an operator's, of scope admin. foliot token generate prints such a token. If the store had a token already, the file changes nothing."`
	InsecureListen     bool     `env:"FOLIOT_INSECURE_LISTEN" group:"serve-listen" help:"Listen beyond loopback without an access token, or without TLS. Anyone who can reach the port, or read the network traffic, may read and create tasks."`

	Data         string        `default:"./foliot-data" env:"FOLIOT_DATA" group:"serve-store" placeholder:"DIR" help:"The directory that holds the tasks. It is not used if --store is a Redis or PostgreSQL."`
	Store        string        `env:"FOLIOT_STORE" group:"serve-store" placeholder:"STORE" help:"Use this store instead of --data. A Redis or Valkey: redis://USER:PASSWORD@HOST:PORT. With Sentinels: redis+sentinel://USER:PASSWORD@HOST,HOST,HOST/MASTER. A Cluster: redis+cluster://USER:PASSWORD@HOST,HOST. Use rediss instead of redis for TLS. PostgreSQL 14 or newer: postgres://USER:PASSWORD@HOST/DATABASE?search_path=SCHEMA, after foliot postgres migrate. With memory: all data is lost when the server stops. A directory is the same as --data."`
	BodyLimit    int           `default:"262144" env:"FOLIOT_BODY_LIMIT" group:"serve-store" placeholder:"BYTES" help:"The largest body of a task, at most 1048576."`
	KeepFinished time.Duration `default:"24h" env:"FOLIOT_KEEP_FINISHED" group:"serve-store" placeholder:"DURATION" help:"How long to keep the record of a delivered, cancelled or expired task, unless its queue sets another time."`
	KeepDead     time.Duration `default:"720h" env:"FOLIOT_KEEP_DEAD" group:"serve-store" placeholder:"DURATION" help:"How long to keep a dead task, so that it can be retried, unless its queue sets another time."`
	AuditKeep    time.Duration `default:"720h" env:"FOLIOT_AUDIT_KEEP" group:"serve-store" placeholder:"DURATION" help:"How long the audit log keeps its entries."`

	Node        string        `env:"FOLIOT_NODE" group:"serve-redis" placeholder:"NAME" help:"The name of this server among those that share the store: letters, digits, dots, dashes and underscores. Each server needs its own name. A server delivers nothing while another server has the same name. Default: the name of the host and a random part."`
	Shards      ShardCount    `env:"FOLIOT_SHARDS" group:"serve-redis" placeholder:"N" help:"The number of shards into which the tasks are divided among the servers, from 1 to 4096. The first start on a Redis fixes the number, by default 32, in a Cluster 256. Not for PostgreSQL."`
	ShardLease  time.Duration `default:"6s" env:"FOLIOT_SHARD_LEASE" group:"serve-redis" placeholder:"DURATION" help:"How long a server keeps its shards without a heartbeat. A dead server delays its tasks by up to this long. Its running attempts are repeated after 15s, or after 2.5 times --shard-lease if that is less. Use the same value on all servers; change it only while none runs. PostgreSQL: always 6s."`
	Durability  string        `default:"default" enum:"async,default,strict" env:"FOLIOT_DURABILITY" group:"serve-redis" placeholder:"async|default|strict" help:"The failures that an accepted task survives. async: a crash of Foliot. default: also the loss of a master, if a replica confirmed the task in time. strict: the loss of any one server; each write is synced (appendfsync always), and refused unless replicas confirm it. PostgreSQL: async syncs within a second, default before the reply; strict refuses a write that no standby confirms."`
	RedisUnsafe bool          `aliases:"redis-unsafe-eviction,redis-unsafe-persistence" env:"FOLIOT_REDIS_UNSAFE" group:"serve-redis" help:"Accept a Redis that may lose tasks: it has no append-only file, or does not sync it as --durability requires, or evicts keys when its memory is full."`

	EgressAllow []string      `env:"FOLIOT_EGRESS_ALLOW" group:"serve-deliver" placeholder:"CIDR" help:"Allow tasks to call these addresses, such as 10.0.0.0/8. Public addresses are allowed by default. Loopback and the other addresses of this machine are allowed until a token exists, or until --listen, --host or --trusted-proxy allow other clients."`
	EgressDeny  []string      `env:"FOLIOT_EGRESS_DENY" group:"serve-deliver" placeholder:"CIDR" help:"Forbid tasks to call these addresses, even if another setting allows them."`
	ReceiverCA  string        `name:"receiver-ca" env:"FOLIOT_RECEIVER_CA" group:"serve-deliver" placeholder:"FILE" help:"Also trust receivers whose certificate is signed by an authority in this PEM file. The server reads it at its start."`
	Concurrency int           `default:"1024" env:"FOLIOT_CONCURRENCY" group:"serve-deliver" placeholder:"N" help:"How many attempts may run at the same time."`
	Grace       time.Duration `default:"20s" env:"FOLIOT_GRACE" group:"serve-deliver" placeholder:"DURATION" help:"How long running attempts may continue after a signal to stop."`

	LogFormat  string `default:"text" enum:"text,json" env:"FOLIOT_LOG_FORMAT" group:"serve-watch" placeholder:"text|json" help:"The format of the log on standard error."`
	LogLevel   string `default:"info" enum:"debug,info,warn,error" env:"FOLIOT_LOG_LEVEL" group:"serve-watch" placeholder:"LEVEL" help:"The lowest level to log: debug, info, warn or error. debug has a line for each request."`
	LogChanges bool   `env:"FOLIOT_LOG_CHANGES" group:"serve-watch" help:"Log each change of a task or a schedule by a client: a line with the action, the name, the token and the address."`
}
