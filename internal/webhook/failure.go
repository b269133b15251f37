package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/internal/task"
)

// failed returns the outcome of an attempt without a reply. Reasons on our side
// are checked first, because if we ended the connection, its error does not
// describe the receiver.
func (x *exchange) failed(err error) task.Outcome {
	cause := context.Cause(x.ctx)
	var denied *egressDenied
	switch {
	case errors.Is(err, errLease):
		return task.Outcome{Verdict: task.Unsent, Error: clip(err.Error())}
	case errors.As(err, &denied):
		return task.Outcome{Verdict: task.Refusal, Reason: task.ReasonEgressDenied, Error: task.EgressRefused, Detail: clip(denied.detail())}
	case cause != nil && x.sent.IsZero():
		return task.Outcome{Verdict: task.Unsent, Error: "stopped before the request was sent"}
	case cause != nil:
		return task.Outcome{Verdict: task.Interrupted, Error: "stopped by this server before the receiver replied: " + cause.Error()}
	case !time.Now().Before(x.deadline):
		return task.Outcome{Verdict: task.Failure, Error: x.timedOut()}
	}
	return task.Outcome{Verdict: task.Failure, Error: clip(sentence(err, x.Task.Request.Destination))}
}

func (x *exchange) timedOut() string {
	if x.sent.IsZero() {
		return fmt.Sprintf("no connection to %s within %s", x.Task.Request.Destination, x.Task.Timeout)
	}
	return fmt.Sprintf("no reply within %s", x.Task.Timeout)
}

// sentence explains in plain words why no reply came from destination.
func sentence(err error, destination string) string {
	var (
		dns     *net.DNSError
		unknown x509.UnknownAuthorityError
		cert    *tls.CertificateVerificationError
		notTLS  tls.RecordHeaderError
		op      = new(net.OpError)
	)
	errors.As(err, &op)
	switch {
	case errors.As(err, &dns):
		return unresolved(err, dns.Name)
	case errors.Is(err, errPartlyDenied):
		return fmt.Sprintf("cannot connect to %s: %s", destination, errPartlyDenied)
	case op.Op == "dial" && op.Timeout():
		return fmt.Sprintf("cannot connect to %s: no answer within %s", destination, connectTimeout)
	case op.Op == "dial":
		return fmt.Sprintf("cannot connect to %s: %s", destination, innermost(op))
	case errors.As(err, &unknown):
		return fmt.Sprintf("TLS with %s: %s. Pass the certificate of a private authority to the server with --receiver-ca, and restart it", destination, unknown)
	case errors.As(err, &cert):
		return fmt.Sprintf("TLS with %s: %s", destination, cert.Err)
	case errors.As(err, &notTLS):
		return fmt.Sprintf("TLS with %s: the server does not use TLS", destination)
	case op.Op == "remote error":
		return fmt.Sprintf("TLS with %s: the server refused the handshake: %s", destination, innermost(op))
	case errors.Is(err, errHandshake):
		return fmt.Sprintf("TLS with %s: no handshake within %s", destination, tlsTimeout)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the receiver reset the connection before a reply came"
	case errors.Is(err, io.EOF), errors.Is(err, errClosed):
		return "the receiver closed the connection before a reply came"
	case errors.Is(err, errHeaderTooLong):
		return fmt.Sprintf("the reply's header is longer than %d KiB", maxReplyHeader>>10)
	}
	return fmt.Sprintf("%s: %s", task.UnreadableReply, unquoted(innermost(err)))
}

// unquoted returns the text of an error without the bytes of the reply that
// net/http quotes, because the error is logged, and the bytes can be a secret.
func unquoted(err error) string {
	text, _, _ := strings.Cut(err.Error(), `"`)
	text = strings.TrimRight(text, " [")
	if line := textproto.ProtocolError(""); errors.As(err, &line) {
		text, _, _ = strings.Cut(text, ":")
	}
	return text
}

// unresolved explains why name has no address, without the resolver's address,
// which must stay private.
func unresolved(err error, name string) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("cannot resolve %s: %s", name, dns.Err)
	}
	return fmt.Sprintf("cannot resolve %s: %s", name, innermost(err))
}

// innermost returns the last error of a chain: "connection refused" instead of
// "dial tcp 10.0.0.1:80: connect: connection refused".
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
