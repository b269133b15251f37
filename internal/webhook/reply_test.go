package webhook

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/task"
)

func TestAReplyIsJudgedByStatusAndHeader(t *testing.T) {
	const never = -1
	for _, c := range []struct {
		status  int
		header  string // "Name: value"
		verdict task.Verdict
		reason  string
		wait    time.Duration
	}{
		{200, "", task.Success, "", never},
		{204, "", task.Success, "", never},
		{200, "Foliot-No-Retry: true", task.Success, "", never},
		{300, "", task.Failure, "", never},
		{400, "", task.Failure, "", never},
		{410, "", task.Refusal, task.ReasonGone, never},
		{429, "", task.Failure, "", never},
		{429, "Retry-After: 7", task.Snooze, "", 7 * time.Second},
		{429, "Retry-After: soon", task.Failure, "", never},
		{429, "Foliot-No-Retry: true", task.Refusal, task.ReasonNoRetry, never},
		{500, "Retry-After: 7", task.Failure, "", never},
		{500, "Foliot-No-Retry: true", task.Refusal, task.ReasonNoRetry, never},
		{500, "foliot-no-retry: TRUE", task.Refusal, task.ReasonNoRetry, never},
		{500, "Foliot-No-Retry: false", task.Failure, "", never},
		{503, "", task.Failure, "", never},
		{503, "Retry-After: 0", task.Snooze, "", 0},
		{503, "Retry-After: 120", task.Snooze, "", 2 * time.Minute},
		{999, "", task.Failure, "", never},
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			if name, value, ok := strings.Cut(c.header, ": "); ok {
				w.Header().Set(name, value)
			}
			w.WriteHeader(c.status)
		})
		o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, server.URL))
		if o.Verdict != c.verdict || o.Reason != c.reason || o.Status != c.status {
			t.Errorf("%d %s: %+v", c.status, c.header, o)
		}
		if c.wait != never && o.RetryAfter != c.wait {
			t.Errorf("%d %s: waits %v", c.status, c.header, o.RetryAfter)
		}
		if (o.Error == "") != (c.verdict == task.Success) {
			t.Errorf("%d %s: error %q", c.status, c.header, o.Error)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		value, date string
		wait        time.Duration
		ok          bool
	}{
		{"0", "", 0, true},
		{"1", "", time.Second, true},
		{"99999999999999999999999999", "", task.MaxDuration, true},
		{"Fri, 20 Nov 2026 20:01:30 GMT", "", 90 * time.Second, true},
		{"Fri, 20 Nov 2026 19:00:00 GMT", "", 0, true},
		// A receiver whose clock is an hour ahead still means 90 s.
		{"Fri, 20 Nov 2026 21:01:30 GMT", "Fri, 20 Nov 2026 21:00:00 GMT", 90 * time.Second, true},
		{"Fri, 20 Nov 2026 20:01:30 GMT", "yesterday", 90 * time.Second, true},
		{"", "", 0, false},
		{"-1", "", 0, false},
		{"1s", "", 0, false},
	} {
		h := http.Header{"Retry-After": {c.value}, "Date": {c.date}}
		if wait, ok := retryAfter(h, now); wait != c.wait || ok != c.ok {
			t.Errorf("%q with the date %q: %v, %v", c.value, c.date, wait, ok)
		}
	}
}

func TestOnlyTheBeginningOfAReplyIsKept(t *testing.T) {
	for _, c := range []struct{ name, reply, want string }{
		{"empty", "", ""},
		{"short", "ok", "ok"},
		{"exact", strings.Repeat("x", 512), strings.Repeat("x", 512)},
		{"long", strings.Repeat("x", 5000), strings.Repeat("x", 512)},
		{"a rune across the end", strings.Repeat("x", 511) + "€", strings.Repeat("x", 511)},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"nothing but bytes", strings.Repeat("\xff\x00", 300), ""},
	} {
		got, complete := readReply(strings.NewReader(c.reply), -1)
		if !complete {
			t.Errorf("%s: not read to the end", c.name)
		}
		if same, complete := readReply(strings.NewReader(c.reply), int64(len(c.reply))); same != got || !complete {
			t.Errorf("%s: of a length that is known kept %q, of one that is not %q", c.name, same, got)
		}
		if c.want != "" && got != c.want || len(got) > task.MaxReplyKept || !utf8.ValidString(got) {
			t.Errorf("%s: kept %d bytes, %q", c.name, len(got), got)
		}
	}
}

func TestAReplyIsReadUpToALimit(t *testing.T) {
	for _, size := range []int{0, 511, 512, 513, maxReplyRead - 1, maxReplyRead, maxReplyRead + 1, 1 << 20} {
		for _, length := range []int64{-1, int64(size)} {
			r := bytes.NewReader(make([]byte, size))
			readReply(r, length)
			if read := size - r.Len(); read != min(size, maxReplyRead) {
				t.Errorf("of %d bytes, %d announced, %d were read", size, length, read)
			}
		}
	}
}

func TestACompressedReplyIsNotUnpacked(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(bytes.Repeat([]byte("bomb"), 1<<18))
	_ = z.Close()
	server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed.Bytes())
	})
	o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, server.URL))
	if o.Verdict != task.Success || !strings.HasPrefix(o.Reply, "\x1f") || strings.Contains(o.Reply, "bomb") {
		t.Errorf("got %.80q", o.Reply)
	}
}

// The log and the traces have the errors of attempts, and must not have paths,
// queries or headers.
func TestNoErrorQuotesWhatTheReceiverSent(t *testing.T) {
	for _, reply := range []string{
		"HTTP/1.1 302 Found\r\nLocation: https://me:hush@other.example/hush?token=hush\r\n\r\n",
		"HTTP/1.1 302 Found\r\nLocation: /hush\r\n\r\n",
		"hush\r\n\r\n", "HTTP/1.1 hush\r\n\r\n", "HTTP/hush 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nSet-Cookie hush\r\n\r\n", "HTTP/1.1 200 OK\r\n hush: 1\r\n\r\n", "HTTP/1.1 200 OK\r\nSet-Cookie\x00: hush\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: hush\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: hush\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: hush\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: hush\r\nTransfer-Encoding: hush\r\n\r\n",
	} {
		url := rawServer(t, func(_ int, c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				io.WriteString(c, reply)
			}
		})
		o := newSender(t, Config{}).Deliver(t.Context(), delivery(t, url))
		if o.Verdict != task.Failure || o.Error == "" || strings.Contains(o.Error, "hush") {
			t.Errorf("%q: %v, %q", reply, o.Verdict, o.Error)
		}
	}
}
