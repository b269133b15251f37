package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/webhook"
)

// maxReplyRead is how much of a reply's body is read so that the connection can be
// kept; a longer body closes it.
const maxReplyRead = 64 << 10

// judge returns the outcome that a reply means for its task. It reads only the
// status and the header, because the status line is the answer, even if the rest
// fails.
func judge(r *http.Response, now time.Time) task.Outcome {
	code := r.StatusCode
	switch {
	case code >= 200 && code <= 299:
		return task.Outcome{Verdict: task.Success}
	case strings.EqualFold(strings.TrimSpace(r.Header.Get(webhook.HeaderNoRetry)), "true"):
		return task.Outcome{Verdict: task.Refusal, Reason: task.ReasonNoRetry, Error: answered(code) + " and Foliot-No-Retry: true"}
	case code == http.StatusGone:
		return task.Outcome{Verdict: task.Refusal, Reason: task.ReasonGone, Error: answered(code)}
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		if wait, ok := retryAfter(r.Header, now); ok {
			return task.Outcome{Verdict: task.Snooze, RetryAfter: wait, Error: fmt.Sprintf("%s and asked to wait %s", answered(code), wait)}
		}
	case code >= 300 && code <= 399:
		return task.Outcome{Verdict: task.Failure, Error: clip(redirected(r))}
	}
	return task.Outcome{Verdict: task.Failure, Error: answered(code)}
}

func answered(code int) string {
	if text := http.StatusText(code); text != "" {
		return fmt.Sprintf("the receiver answered %d %s", code, text)
	}
	return fmt.Sprintf("the receiver answered %d", code)
}

// redirected names only the host of the Location, because the log and the traces
// have the error, and a path or query can be secret.
func redirected(r *http.Response) string {
	if to, err := url.Parse(r.Header.Get("Location")); err == nil && to.Host != "" {
		return fmt.Sprintf("%s to %q: redirects are not followed", answered(r.StatusCode), to.Host)
	}
	return answered(r.StatusCode) + ": redirects are not followed"
}

// retryAfter parses Retry-After of RFC 9110: seconds, or a date. A date counts
// relative to the reply's own Date, so that a receiver with a wrong clock still
// gets the delay that it asks for, or else relative to now.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if allDigits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(task.MaxDuration/time.Second) {
			return task.MaxDuration, true // valid digits, but more than any duration
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0), true
}

// keepFor returns how long a connection may be idle after a reply: idleTimeout, or
// less if the receiver closes it earlier. One second of Keep-Alive is left out,
// because its whole seconds begin when the receiver has written the reply.
func keepFor(h http.Header) time.Duration {
	for param := range strings.SplitSeq(strings.Join(h.Values("Keep-Alive"), ","), ",") {
		name, value, _ := strings.Cut(param, "=")
		seconds := strings.Trim(value, ` "`)
		if !strings.EqualFold(strings.TrimSpace(name), "timeout") || !allDigits(seconds) {
			continue
		}
		n, _ := strconv.Atoi(seconds) // the largest number if it is out of range
		return min(time.Duration(min(n, 60))*time.Second-time.Second, idleTimeout)
	}
	return idleTimeout
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// readReply returns the beginning of a body, reads to the end if that is near, and
// reports whether it has reached the end. An error ends the body as well, because
// the status has already been judged. length is the length in the reply's header,
// or -1 if there is none. Two limits apply: room bounds the bytes, and bounded
// bounds the text, which can be longer.
func readReply(body io.Reader, length int64) (text string, complete bool) {
	room := task.MaxReplyKept
	if length >= 0 && length < task.MaxReplyKept {
		room = int(length) + 1 // one more than the length, so that the same read finds the end
	}
	kept, n := make([]byte, room), 0
	var err error
	for n < room && err == nil {
		var read int
		read, err = body.Read(kept[n:])
		n += read
	}
	if err == nil {
		_, err = io.CopyN(io.Discard, body, maxReplyRead-int64(n))
	}
	return task.Clip(string(kept[:n]), task.MaxReplyKept), errors.Is(err, io.EOF)
}

func clip(s string) string { return task.Clip(s, task.MaxErrorKept) }
