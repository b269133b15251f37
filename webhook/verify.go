package webhook

import (
	"cmp"
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ErrUntrusted is wrapped by every error that is about the callback: reply with
// 401, and do nothing. All other errors are about the secrets, the Options or
// the connection.
var ErrUntrusted = errors.New("webhook: the callback must not be trusted")

// Options are the options of Verify and Read. The zero Options are those of the
// standard.
type Options struct {
	// Tolerance is the time by which a callback may be older or newer than this
	// machine's clock, because an older one may be a replay. Zero means 5
	// minutes, and a negative Tolerance accepts any time.
	Tolerance time.Duration

	// MaxBody is the highest number of bytes that Read reads. Zero means 1 MiB,
	// the longest body that Foliot sends. It must not be negative.
	MaxBody int64

	// Now reads the clock. Default: time.Now.
	Now func() time.Time
}

const (
	defaultTolerance = 5 * time.Minute
	defaultMaxBody   = 1 << 20
	mostDigits       = 18 // of a timestamp: every int64 can hold them
)

// Read reads the body of a request and verifies it, as Verify does. If something
// has read the body before, Read refuses the callback. It also returns an error
// if the body cannot be read, or is longer than Options.MaxBody.
func Read(secrets []string, r *http.Request, o Options) (*Event, error) {
	limit := cmp.Or(o.MaxBody, defaultMaxBody)
	if limit < 0 {
		return nil, fmt.Errorf("webhook: Options.MaxBody is %d, but must not be negative", limit)
	}
	var body []byte
	if r.Body != nil {
		var err error
		body, err = io.ReadAll(http.MaxBytesReader(nil, r.Body, limit))
		if longer := (*http.MaxBytesError)(nil); errors.As(err, &longer) {
			return nil, untrusted("its body is longer than %d bytes: raise Options.MaxBody if your tasks have such bodies", limit)
		} else if err != nil {
			return nil, fmt.Errorf("webhook: read the body: %w: reply with an error, so that the callback is sent again", err)
		}
	}
	if len(body) == 0 && r.ContentLength != 0 {
		return nil, errBodyGone
	}
	return Verify(secrets, r.Header, body, o)
}

// Verify returns the callback with these headers and this body, which must be
// the bytes that arrived: no code may parse it before. It returns an error that
// wraps ErrUntrusted unless
//
//   - one of the secrets made one of the signatures, so a receiver can accept the
//     old and the new secret during a rotation;
//   - the time of the callback is within Options.Tolerance;
//   - the body is there, if the headers say that the callback had one.
//
// Signatures of other versions are skipped. Verify also returns an error if no
// secret is given, or if a secret is invalid.
func Verify(secrets []string, h http.Header, body []byte, o Options) (*Event, error) {
	keys, err := keysOf(secrets)
	if err != nil {
		return nil, err
	}
	id, stamp, signatures, err := signed(h)
	if err != nil {
		return nil, err
	}
	at, err := o.parseTimestamp(stamp)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 && hadBody(h) {
		return nil, errBodyGone
	}
	head := appendHead(nil, id, stamp)
	for _, key := range keys {
		want := appendSignature(nil, key, head, body)
		for one := range strings.SplitSeq(signatures, " ") {
			if hmac.Equal([]byte(one), want) { // takes the same time wherever they differ
				e := &Event{ID: id, Timestamp: at, Body: body}
				e.describe(h)
				return e, nil
			}
		}
	}
	return nil, untrusted("no signature matches: use the secret of its queue, and the bytes of the body as they arrived; otherwise it is forged")
}

func untrusted(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUntrusted}, args...)...)
}

// errBodyGone refuses an empty body of a callback that had one. Otherwise the
// signature of a callback without a body would be valid for a form that a
// framework has parsed.
var errBodyGone = untrusted("the bytes of its body are gone: verify it before any code reads or parses the body")

func hadBody(h http.Header) bool {
	if length := h.Get("Content-Length"); length != "" && length != "0" || h.Get("Transfer-Encoding") != "" {
		return true
	}
	kind := strings.ToLower(strings.Join(h.Values("Content-Type"), ","))
	return strings.Contains(kind, "multipart") || strings.Contains(kind, "encoded")
}

// signed returns the headers that form a signature or that it covers. Each must
// occur once, because of two headers, another program may read the other one.
func signed(h http.Header) (id, stamp, signatures string, err error) {
	var values [3]string
	for i, name := range []string{HeaderID, HeaderTimestamp, HeaderSignature} {
		switch all := h.Values(name); {
		case len(all) > 1:
			return "", "", "", untrusted("%s occurs %d times: a proxy must pass on the signed headers unchanged", strings.ToLower(name), len(all))
		case len(all) == 1:
			values[i] = all[0]
		}
	}
	id, stamp, signatures = values[0], values[1], values[2]
	switch {
	case signatures == "":
		return "", "", "", untrusted("it has no signature: create a secret for its queue or namespace, with foliot secret create")
	case id == "" || strings.Contains(id, "."):
		// With a dot, the signature of id "a", time 1 and body "2.x" would also
		// be valid for id "a.1", time 2 and body "x".
		return "", "", "", untrusted("webhook-id is missing or contains a dot: a proxy must pass on the signed headers unchanged")
	}
	return id, stamp, signatures, nil
}

// parseTimestamp parses seconds since 1970, digits only, and checks that this
// time is within the tolerance.
func (o *Options) parseTimestamp(s string) (time.Time, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" || len(s) > mostDigits {
		return time.Time{}, untrusted("webhook-timestamp is not a number of seconds: a proxy must pass on the signed headers unchanged")
	}
	seconds, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return time.Time{}, untrusted("webhook-timestamp: %v", err)
	}
	at, clock := time.Unix(seconds, 0), time.Now
	if o.Now != nil {
		clock = o.Now
	}
	tolerance := cmp.Or(o.Tolerance, defaultTolerance)
	switch now := clock(); {
	case tolerance < 0:
	case now.Sub(at) > tolerance:
		return time.Time{}, untrusted("it is %v old by this clock: it is a replay, or the clock is wrong", now.Sub(at).Truncate(time.Second))
	case at.Sub(now) > tolerance:
		return time.Time{}, untrusted("its time is %v ahead of this clock: the clock is wrong, or it is forged", at.Sub(now).Truncate(time.Second))
	}
	return at, nil
}
