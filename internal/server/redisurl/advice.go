package redisurl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/usage"
)

// Explain adds advice to each reason why the store could not be opened or
// examined.
func (u *URL) Explain(doing string, err error) error {
	var all []error
	for _, reason := range usage.Parts(err) {
		all = append(all, u.explainOne(doing, reason))
	}
	return errors.Join(all...)
}

func (u *URL) explainOne(doing string, err error) error {
	err = fmt.Errorf("%s the store at %s: %w", doing, u, err)
	if advice := u.advice(err); advice != "" {
		err = fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// foreignReply matches the client's error, with its first byte, for a reply in
// another protocol.
var foreignReply = regexp.MustCompile(`unknown message type: (\d+)`)

func (u *URL) advice(err error) string {
	var reply *rueidis.RedisError
	text := err.Error()
	var unknown x509.UnknownAuthorityError
	var plain tls.RecordHeaderError
	var broken *net.OpError
	foreign := foreignReply.FindStringSubmatch(text)
	switch {
	case errors.Is(err, redisstore.ErrUnfit), errors.Is(err, redisstore.ErrDiffers), errors.Is(err, task.ErrStoreReplaced), errors.Is(err, task.ErrSettingsLost):
		return "" // the error contains advice already
	case errors.Is(err, redisstore.ErrCluster):
		return "use " + u.as(cluster)
	case errors.Is(err, redisstore.ErrSentinel):
		return "use " + u.as(sentinel) + "MASTER"
	case u.form == sentinel && strings.Contains(text, "unknown command"):
		return "this is a Redis, not a Sentinel; pass the addresses of its Sentinels, usually at port 26379, or, if it has none, use " + u.as(single)
	case strings.Contains(text, "cluster support disabled"):
		return "this is not a Cluster; use " + u.as(single)
	case strings.Contains(text, "WRONGPASS"), strings.Contains(text, "NOAUTH"), strings.Contains(text, "without any password configured"):
		return "pass a valid user and password: USER:PASSWORD@ before the address, or :PASSWORD@ for the default user"
	case strings.Contains(text, "NOPERM"):
		return "its user lacks a permission; docs/redis.md has the ACL rule with all that are needed, and if the URL has a prefix, the rule names the prefix"
	case foreign != nil && foreign[1] == "21": // the type of a TLS alert
		return "the server expects TLS on that port; begin the URL with rediss instead of redis"
	case foreign != nil && foreign[1] == "72": // the H of HTTP/1.1
		return "an HTTP server, not a Redis, listens on that port; check the address"
	case foreign != nil:
		return "another program, not a Redis, listens on that port; check the address"
	case strings.Contains(text, "DB index is out of range"):
		return "pass a db below the number of databases that the server has: its setting databases, by default 16"
	case errors.As(err, &reply):
		return "this is an error from Redis itself: check its log"
	case errors.As(err, &unknown):
		return "its certificate is signed by an unknown authority; pass the authority's certificate as ca=FILE after a ?"
	case strings.Contains(text, "x509: "):
		return "its certificate is not valid for that name; pass the name in the certificate as server-name=NAME after a ?"
	case strings.Contains(text, "certificate required"), strings.Contains(text, "bad certificate"):
		return "the server requires a client certificate from an authority that it trusts; pass one as cert=FILE&key=FILE after a ?"
	case errors.As(err, &plain), u.tls && errors.Is(err, context.DeadlineExceeded):
		return "check that it runs and expects TLS on that port; without TLS, begin the URL with redis instead of rediss"
	case !u.tls && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)):
		return "the program on that port drops connections: if it is a Redis with TLS, begin the URL with rediss instead of redis; otherwise check the address"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &broken):
		return "check that it runs, that the address is correct, and that no firewall blocks the connection"
	}
	return "check that it runs, and check its log"
}

// as returns the beginning of the same URL in another form.
func (u *URL) as(form topology) string {
	other := URL{form: form, tls: u.tls, Addrs: u.Addrs[:1]}
	if form == sentinel {
		return other.String() + "/"
	}
	return other.String()
}
