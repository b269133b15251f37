package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

const (
	// redisDial is how long a server may take to answer a new connection. One that is
	// not there when foliot serve starts is not waited for any longer: who starts it,
	// systemd or Kubernetes, tries again, and shows why it is not up. Only one that reads
	// its file is: it is there, and that takes as long as it takes.
	redisDial = 3 * time.Second
	// redisReap is how often lost leases are taken back: other than a directory's,
	// a Redis's are not while it is opened. What a dead node had in flight is sent again
	// within its lease and a second: of that second this is half, so that what else takes
	// time has the other. (With a whole one, 7 of 2,444 tasks came some milliseconds after
	// it, or just before.) It costs each master one ZRANGE a shard.
	redisReap = 500 * time.Millisecond
)

// openRedis opens the store in the servers that the configuration names.
func (n *node) openRedis(ctx context.Context) error {
	u := n.cfg.redis
	client, err := u.options()
	if err != nil {
		return err
	}
	c := n.cfg.sharing.config()
	c.Client, c.Policy, c.AuditKeep, c.Logger = client, n.cfg.keep, n.cfg.auditKeep, n.log
	c.Version, c.Address = version(), advertised(n.listener.Addr())
	c.OnReap = n.reaped
	c.APIs = func() []string { return apisOf(n.listener.Addr()) }
	s, err := redisstore.Open(ctx, c)
	if err != nil {
		return u.explain("open", err)
	}
	n.store, n.now, n.latest, n.trusted = s, s.Now, s.Latest, s.Trusted
	return nil
}

// advertised returns where others reach a listener, as far as it tells: by the
// machine's name, where it listens at all of its addresses.
func advertised(at net.Addr) string {
	tcp, ok := at.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return at.String()
	}
	host, err := os.Hostname()
	if err != nil {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(tcp.Port))
}

// options returns what u says in the client's words, with the files that it names.
func (u *redisURL) options() (rueidis.ClientOption, error) {
	o := rueidis.ClientOption{
		InitAddress: u.addrs, Username: u.user, Password: u.password, SelectDB: u.db, ClientName: "foliot",
		Dialer: net.Dialer{Timeout: redisDial}, DisableCache: true, ForceSingleClient: u.form == redisAlone,
	}
	if u.form == redisCluster && len(u.addrs) == 1 {
		o.InitAddress = append(u.addrs[:1:1], u.addrs[0]) // for a single one the client also takes a server that is no Cluster
	}
	if u.tls {
		config, err := u.tlsConfig()
		if err != nil {
			return o, err
		}
		o.TLSConfig = config
	}
	if u.form == redisSentinel {
		o.Sentinel = rueidis.SentinelOption{
			MasterSet: u.master, Username: u.sentinelUser, Password: u.sentinelPassword, ClientName: "foliot",
			Dialer: o.Dialer, TLSConfig: o.TLSConfig, TopologyRefreshInterval: redisDial,
		}
	}
	return o, nil
}

func (u *redisURL) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.serverName}
	if u.ca != "" {
		data, err := fileaccess.Read(u.ca, fileaccess.Unaltered)
		if err != nil {
			return nil, usage.Errorf("--store", "ca: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, usage.Errorf("--store", "ca: %s holds no certificate in PEM", u.ca)
		}
	}
	if u.cert != "" {
		cert, err := fileaccess.Read(u.cert, fileaccess.Unaltered)
		if err != nil {
			return nil, usage.Errorf("--store", "cert: %v", err)
		}
		key, err := fileaccess.Read(u.key, fileaccess.SecretFile)
		if err != nil {
			return nil, usage.Errorf("--store", "key: %v", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, usage.Errorf("--store", "cert and key: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// explain adds to each reason why the store could not be opened, or examined, what
// to do about it.
func (u *redisURL) explain(doing string, err error) error {
	var all []error
	for _, reason := range usage.Parts(err) {
		all = append(all, u.explainOne(doing, reason))
	}
	return errors.Join(all...)
}

func (u *redisURL) explainOne(doing string, err error) error {
	err = fmt.Errorf("%s the store at %s: %w", doing, u, err)
	if advice := u.advice(err); advice != "" {
		err = fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// foreignReply matches the client's error for a reply in another protocol. The error names the first byte.
var foreignReply = regexp.MustCompile(`unknown message type: (\d+)`)

func (u *redisURL) advice(err error) string {
	var reply *rueidis.RedisError
	text := err.Error()
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var broken *net.OpError
	foreign := foreignReply.FindStringSubmatch(text)
	switch {
	case errors.Is(err, redisstore.ErrUnfit), errors.Is(err, redisstore.ErrDiffers), errors.Is(err, task.ErrStoreReplaced), errors.Is(err, task.ErrSettingsLost):
		return "" // it says what to do
	case errors.Is(err, redisstore.ErrCluster):
		return "name it by " + u.as(redisCluster)
	case errors.Is(err, redisstore.ErrSentinel):
		return "name it by " + u.as(redisSentinel) + "MASTER"
	case u.form == redisSentinel && strings.Contains(text, "unknown command"):
		return "it is no Sentinel, but a Redis; name the Sentinels that watch it, mostly at port 26379, or, where there are none, the Redis itself by " + u.as(redisAlone)
	case strings.Contains(text, "cluster support disabled"):
		return "it is no Cluster; name it by " + u.as(redisAlone)
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(text, "without any password configured"):
		return "give a user and a password that are good there, USER:PASSWORD@ before the address, or :PASSWORD@ for its default user"
	case strings.Contains(text, "NOPERM"):
		return "its user lacks a right; docs/redis.md has the rule that gives all that are needed"
	case foreign != nil && foreign[1] == "21": // the type of TLS's alerts
		return "it speaks TLS on that port; begin with rediss in the place of redis"
	case foreign != nil && foreign[1] == "72": // the H of HTTP/1.1
		return "a server that speaks HTTP listens on that port, and no Redis; see that the address is right"
	case foreign != nil:
		return "another program listens on that port, and no Redis; see that the address is right"
	case errors.As(err, &reply):
		return "what it says is Redis's own: look into its log"
	case errors.As(err, &unknown):
		return "its certificate is signed by nobody who is known here; name who signed it by ca=FILE after a ?"
	case strings.Contains(text, "x509: "):
		return "its certificate is not for that name; server-name=NAME after a ? says what it is for"
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"):
		return "it wants a certificate of ours that it knows the signer of; cert=FILE&key=FILE after a ? name one"
	case errors.As(err, &plain), u.tls && errors.Is(err, context.DeadlineExceeded):
		return "see that it runs and speaks TLS on that port; without TLS begin with redis in the place of rediss"
	case !u.tls && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "it breaks connections off; if it speaks TLS on that port, begin with rediss in the place of redis; if not, it is no Redis"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &broken):
		return "see that it runs, that the address is right, and that nothing on the way keeps connections from it"
	}
	return "see that it runs, and what its log says"
}

// as returns the beginning of the same URL in another form.
func (u *redisURL) as(form redisForm) string {
	other := redisURL{form: form, tls: u.tls, addrs: u.addrs[:1]}
	if form == redisSentinel {
		return other.String() + "/"
	}
	return other.String()
}
