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

// Explain adds to each reason why the store could not be opened, or examined, what
// to do about it.
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

// foreignReply matches the client's error for a reply in another protocol. The error names the first byte.
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
		return "" // it says what to do
	case errors.Is(err, redisstore.ErrCluster):
		return "name it by " + u.as(cluster)
	case errors.Is(err, redisstore.ErrSentinel):
		return "name it by " + u.as(sentinel) + "MASTER"
	case u.form == sentinel && strings.Contains(text, "unknown command"):
		return "it is no Sentinel, but a Redis; name the Sentinels that watch it, mostly at port 26379, or, where there are none, the Redis itself by " + u.as(single)
	case strings.Contains(text, "cluster support disabled"):
		return "it is no Cluster; name it by " + u.as(single)
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
func (u *URL) as(form topology) string {
	other := URL{form: form, tls: u.tls, Addrs: u.Addrs[:1]}
	if form == sentinel {
		return other.String() + "/"
	}
	return other.String()
}
