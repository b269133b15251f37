package webhook

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	official "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/foliot/foliot/internal/fatal"
)

// secretOf returns a signing secret of size bytes, all of them n.
func secretOf(n byte, size int) string {
	return secretPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, size))
}

var older, newer = secretOf(1, 32), secretOf(2, 24)

const id = "0198c0de-0000-7000-8000-000000000042"

var sent = time.Unix(1_800_000_000, 0)

// at returns Options with a clock that stands still.
func at(now time.Time) Options { return Options{Now: func() time.Time { return now }} }

// signedHeaders returns the headers of a callback that is sent at sent.
func signedHeaders(t testing.TB, body string, secrets ...string) http.Header {
	t.Helper()
	signatures, err := Sign(secrets, id, sent, []byte(body))
	fatal.If(t, err)
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, fmt.Sprint(sent.Unix()))
	h.Set(HeaderSignature, signatures)
	return h
}

// The example in the standard's own documentation.
func TestTheStandardsExampleHasItsSignature(t *testing.T) {
	secrets := []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	got, err := Sign(secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want || err != nil {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}

func TestTheOfficialLibraryAgreesAboutSignatures(t *testing.T) {
	now := time.Now()
	for _, body := range []string{"", `{"order":42}`, "\x00\xff\r\n."} {
		signatures, err := Sign([]string{older, newer}, id, now, []byte(body))
		fatal.If(t, err)
		h := http.Header{}
		h.Set(HeaderID, id)
		h.Set(HeaderTimestamp, fmt.Sprint(now.Unix()))
		h.Set(HeaderSignature, signatures)
		for _, secret := range []string{older, newer, secretOf(3, 32)} {
			w, err := official.NewWebhook(secret)
			fatal.If(t, err)
			theirs := w.Verify([]byte(body), h)
			if _, ours := Verify([]string{secret}, h, []byte(body), Options{}); (ours == nil) != (theirs == nil) {
				t.Errorf("%q: %v, and the official library: %v", body, ours, theirs)
			}
		}
	}
}

func TestForgedCallbacksAreRefused(t *testing.T) {
	const text = `{"order":42}`
	signature := func(h http.Header, edit func(string) string) { h.Set(HeaderSignature, edit(h.Get(HeaderSignature))) }
	by := func(h http.Header, secret string) {
		h.Set(HeaderSignature, signedHeaders(t, text, secret).Get(HeaderSignature))
	}
	const noMatch, malformed, unsigned, gone = "no signature matches", "webhook-", "it has no signature", "the bytes of its body are gone"
	for _, c := range []struct {
		name string
		edit func(h http.Header)
		body string
		want string // in the error; "" for none
	}{
		{"nothing changed", func(http.Header) {}, text, ""},
		{"another body", func(http.Header) {}, `{"order":43}`, noMatch},
		{"a body with a space more", func(http.Header) {}, text + " ", noMatch},
		{"no body", func(http.Header) {}, "", noMatch},
		{"no body, after a parser", func(h http.Header) { h.Set("Content-Length", "12") }, "", gone},
		{"no body, sent in chunks", func(h http.Header) { h.Set("Transfer-Encoding", "chunked") }, "", gone},
		{"no body, of a form", func(h http.Header) { h.Set("Content-Type", "MULTIPART/form-data; boundary=x") }, "", gone},
		{"no body, of two types", func(h http.Header) { h["Content-Type"] = []string{"a/b", "application/x-www-form-urlencoded"} }, "", gone},
		{"another id", func(h http.Header) { h.Set(HeaderID, id[:35]+"3") }, text, noMatch},
		{"another time", func(h http.Header) { h.Set(HeaderTimestamp, "1800000001") }, text, noMatch},
		{"the same time, written otherwise", func(h http.Header) { h.Set(HeaderTimestamp, "01800000000") }, text, noMatch},
		{"another secret", func(h http.Header) { by(h, newer) }, text, noMatch},
		{"a bit of the signature", func(h http.Header) {
			signature(h, func(s string) string { return s[:5] + string(s[5]^1) + s[6:] })
		}, text, noMatch},
		{"half a signature", func(h http.Header) { signature(h, func(s string) string { return s[:20] }) }, text, noMatch},
		{"no version", func(h http.Header) { signature(h, func(s string) string { return s[3:] }) }, text, noMatch},
		{"an unknown version", func(h http.Header) { signature(h, func(s string) string { return "v2" + s[2:] }) }, text, noMatch},
		{"the asymmetric version", func(h http.Header) { signature(h, func(s string) string { return "v1a" + s[2:] }) }, text, noMatch},
		{"a version in capitals", func(h http.Header) { signature(h, strings.ToUpper) }, text, noMatch},
		{"an empty signature", func(h http.Header) { h.Set(HeaderSignature, "v1,") }, text, noMatch},
		{"spaces alone", func(h http.Header) { h.Set(HeaderSignature, "   ") }, text, noMatch},
		{"a comma between signatures", func(h http.Header) { signature(h, func(s string) string { return "v1,x," + s }) }, text, noMatch},

		{"others next to the right one", func(h http.Header) {
			signature(h, func(s string) string { return "v2,abc v1a,def v1,short  nonsense " + s + " v1," })
		}, text, ""},

		{"no signature", func(h http.Header) { h.Del(HeaderSignature) }, text, unsigned},
		{"no id", func(h http.Header) { h.Del(HeaderID) }, text, malformed},
		{"no time", func(h http.Header) { h.Del(HeaderTimestamp) }, text, malformed},
		{"two ids", func(h http.Header) { h.Add(HeaderID, "other") }, text, malformed},
		{"two times", func(h http.Header) { h.Add(HeaderTimestamp, "1800000000") }, text, malformed},
		{"two signature headers", func(h http.Header) { h.Add(HeaderSignature, "v1,x") }, text, malformed},
		{"a time with a sign", func(h http.Header) { h.Set(HeaderTimestamp, "+1800000000") }, text, malformed},
		{"a negative time", func(h http.Header) { h.Set(HeaderTimestamp, "-1") }, text, malformed},
		{"a time in milliseconds", func(h http.Header) { h.Set(HeaderTimestamp, "1800000000000") }, text, "ahead of this clock"},
		{"a date", func(h http.Header) { h.Set(HeaderTimestamp, "2027-01-15T08:00:00Z") }, text, malformed},
		{"an endless time", func(h http.Header) { h.Set(HeaderTimestamp, strings.Repeat("9", 40)) }, text, malformed},
		{"the largest time", func(h http.Header) { h.Set(HeaderTimestamp, fmt.Sprint(uint64(math.MaxInt64))) }, text, malformed},
		{"the time zero", func(h http.Header) { h.Set(HeaderTimestamp, "0") }, text, "old by this clock"},
	} {
		h := signedHeaders(t, text, older)
		c.edit(h)
		switch e, err := Verify([]string{older}, h, []byte(c.body), at(sent)); {
		case c.want == "" && (err != nil || e.ID != id || !e.Timestamp.Equal(sent) || string(e.Body) != c.body):
			t.Errorf("%s: %+v, %v", c.name, e, err)
		case c.want != "" && (e != nil || !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
}

func TestAReplayIsRefusedAfterTheTolerance(t *testing.T) {
	h := signedHeaders(t, "hello", older)
	for _, c := range []struct {
		tolerance, after time.Duration
		want             string
	}{
		{0, 0, ""},
		{0, defaultTolerance, ""},
		{0, defaultTolerance + 1, "it is 5m0s old by this clock"},
		{0, 24 * time.Hour, "old"},
		{0, -defaultTolerance, ""},
		{0, -defaultTolerance - 1, "ahead"},
		{time.Hour, 59 * time.Minute, ""},
		{time.Hour, 61 * time.Minute, "old"},
		{time.Second, 2 * time.Second, "old"},
		{time.Second, -2 * time.Second, "ahead"},
		{-1, 24 * 365 * time.Hour, ""},
		{-1, -24 * 365 * time.Hour, ""},
		{math.MaxInt64, 24 * 365 * time.Hour, ""},
	} {
		o := at(sent.Add(c.after))
		o.Tolerance = c.tolerance
		_, err := Verify([]string{older}, h, []byte("hello"), o)
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("tolerance %v, %v after it was sent: %v, want %q", c.tolerance, c.after, err, c.want)
		}
	}
}

// A receiver can accept two secrets, and the server can sign with two.
func TestOneCommonSecretIsEnough(t *testing.T) {
	for _, c := range []struct {
		signs, accepts []string
		ok             bool
	}{
		{[]string{older}, []string{newer, older}, true},
		{[]string{newer, older}, []string{older}, true},
		{[]string{newer, older}, []string{newer}, true},
		{[]string{newer}, []string{older}, false},
	} {
		_, err := Verify(c.accepts, signedHeaders(t, "x", c.signs...), []byte("x"), at(sent))
		if (err == nil) != c.ok {
			t.Errorf("signed with %d, accepted with %d: %v", len(c.signs), len(c.accepts), err)
		}
	}
}

// The signature of id "a", a time and the body "<time>.rest" covers the same
// bytes as that of the id "a.<time>", the second time and the body "rest".
func TestADotInAnIDDoesNotChangeWhereTheBodyBegins(t *testing.T) {
	signatures, err := Sign([]string{older}, "a", sent, []byte("1800000000.rest"))
	fatal.If(t, err)
	h := http.Header{HeaderID: {"a.1800000000"}, HeaderTimestamp: {"1800000000"}, HeaderSignature: {signatures}}
	if _, err := Verify([]string{older}, h, []byte("rest"), at(sent)); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "contains a dot") {
		t.Errorf("got %v", err)
	}
	for _, wrong := range []string{"", "a.b"} {
		if s, err := Sign([]string{older}, wrong, sent, nil); err == nil || s != "" {
			t.Errorf("the id %q is signed", wrong)
		}
	}
}

// These are mistakes of the program, and not of the callback.
func TestInvalidSecretsAndOptionsAreNoRefusals(t *testing.T) {
	r := httptest.NewRequest("POST", "/", strings.NewReader("x"))
	for name, verify := range map[string]func() (*Event, error){
		"no secret": func() (*Event, error) { return Verify(nil, signedHeaders(t, "", older), nil, at(sent)) },
		"invalid secret": func() (*Event, error) {
			return Verify([]string{older, "x"}, signedHeaders(t, "", older), nil, at(sent))
		},
		"MaxBody": func() (*Event, error) { return Read([]string{older}, r, Options{MaxBody: -1}) },
		"read the body": func() (*Event, error) {
			r := httptest.NewRequest("POST", "/", io.MultiReader(strings.NewReader("x"), errReader{}))
			return Read([]string{older}, r, Options{})
		},
	} {
		if e, err := verify(); e != nil || err == nil || errors.Is(err, ErrUntrusted) {
			t.Errorf("%s: %v, %v", name, e, err)
		}
	}
	if s, err := Sign(nil, id, sent, nil); err == nil || s != "" {
		t.Errorf("signed %q without a secret", s)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReadReadsAndVerifiesARequest(t *testing.T) {
	request := func(body string, secret string) *http.Request {
		r := httptest.NewRequest("POST", "/", strings.NewReader(body))
		for name, values := range signedHeaders(t, body, secret) {
			r.Header[name] = values
		}
		return r
	}
	o := at(sent)
	o.MaxBody = 10
	for _, body := range []string{"", "x", strings.Repeat("x", 10)} {
		if e, err := Read([]string{older}, request(body, older), o); err != nil || string(e.Body) != body || e.ID != id {
			t.Errorf("%d bytes: %+v, %v", len(body), e, err)
		}
	}
	if _, err := Read([]string{older}, request(strings.Repeat("x", 11), older), o); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "longer than 10 bytes") {
		t.Errorf("11 bytes: %v", err)
	}
	if _, err := Read([]string{older}, request("x", newer), o); !errors.Is(err, ErrUntrusted) {
		t.Errorf("another secret: %v", err)
	}
	parsed := request("", older) // signed without a body
	parsed.ContentLength = 7
	if _, err := Read([]string{older}, parsed, o); !errors.Is(err, ErrUntrusted) || !strings.Contains(err.Error(), "are gone") {
		t.Errorf("a body that was read before: %v", err)
	}
	noBody := request("", older)
	noBody.Body = nil
	if _, err := Read([]string{older}, noBody, o); err != nil {
		t.Errorf("without a body: %v", err)
	}
	long := request(strings.Repeat("x", defaultMaxBody), older)
	if e, err := Read([]string{older}, long, at(sent)); err != nil || len(e.Body) != defaultMaxBody {
		t.Errorf("the longest body of Foliot: %v", err)
	}
}

func TestAnEventHasTheHeadersOfItsAttempt(t *testing.T) {
	h := signedHeaders(t, "", older)
	for name, value := range map[string]string{
		HeaderTask: "nightly@1732309200000", HeaderQueue: "mail", HeaderDueAt: "2024-11-22T21:00:01.250Z",
		HeaderSchedule: "nightly", HeaderInstant: "2024-11-22T21:00:00.000Z", HeaderAttempt: "3", HeaderMaxAttempts: "5",
	} {
		h.Set(name, value)
	}
	e, err := Verify([]string{older}, h, nil, at(sent))
	fatal.If(t, err)
	if e.Task != "nightly@1732309200000" || e.Queue != "mail" || e.Schedule != "nightly" || e.Attempt != 3 || e.MaxAttempts != 5 ||
		e.DueAt.UnixMilli() != 1732309201250 || e.Instant.UnixMilli() != 1732309200000 {
		t.Errorf("%+v", e)
	}
	for name := range h {
		if strings.HasPrefix(name, "Foliot-") {
			h.Set(name, "\xff")
		}
	}
	if e, err = Verify([]string{older}, h, nil, at(sent)); err != nil || !e.DueAt.IsZero() || !e.Instant.IsZero() || e.Attempt != 0 {
		t.Errorf("malformed headers that are not signed: %+v, %v", e, err)
	}
	h.Set(HeaderAttempt, strings.Repeat("9", 40))
	if e, err = Verify([]string{older}, h, nil, at(sent)); err != nil || e.Attempt != 0 {
		t.Errorf("an attempt without end: %+v, %v", e, err)
	}
}

func TestASecretIsReadStrictly(t *testing.T) {
	for _, size := range []int{24, 25, 32, 63, 64} {
		want := bytes.Repeat([]byte{7}, size)
		if got, err := keyOf(secretOf(7, size)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, %v", size, got, err)
		}
	}
	good := secretOf(7, 32)
	for name, s := range map[string]string{
		"empty":              "",
		"the prefix alone":   "whsec_",
		"no prefix":          strings.TrimPrefix(good, "whsec_"),
		"another prefix":     "whsk_" + strings.TrimPrefix(good, "whsec_"),
		"prefix in capitals": strings.ToUpper(good[:6]) + good[6:],
		"23 bytes":           secretOf(7, 23),
		"65 bytes":           secretOf(7, 65),
		"no padding":         strings.TrimRight(good, "="),
		"a space before":     " " + good,
		"a line break after": good + "\n",
		"a line break":       good[:20] + "\n" + good[20:],
		"another alphabet":   "whsec_" + strings.Repeat("_-_-", 10),
		"loose last bits":    good[:len(good)-2] + "d=", // the same bytes for a lenient reader
		"no base64":          "whsec_!!!!",
	} {
		err := CheckSecret(s)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if len(s) > 10 && strings.Contains(err.Error(), strings.TrimPrefix(s, "whsec_")) {
			t.Errorf("%s: the error shows the secret: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	secrets := []string{newer, older}
	f.Add("id", "1800000000", signedHeaders(f, "body", secrets...).Get(HeaderSignature), []byte("body"))
	f.Add("id", "1800000000", "v1, v2,x v1,"+strings.Repeat("A", 43)+"=", []byte(nil))
	f.Add("a.b", "-1", "v1a,x", []byte("1.2.3"))
	f.Add("", "99999999999999999999", "   ", []byte("."))
	f.Fuzz(func(t *testing.T, id, stamp, signatures string, body []byte) {
		h := http.Header{HeaderID: {id}, HeaderTimestamp: {stamp}, HeaderSignature: {signatures}}
		e, err := Verify(secrets, h, body, at(sent))
		if err != nil {
			return
		}
		// An accepted callback was signed: a new signature of it equals one of
		// its signatures.
		if sent.Sub(e.Timestamp).Abs() > defaultTolerance {
			t.Fatalf("accepted %q at %q", id, stamp)
		}
		again, err := Sign(secrets, id, e.Timestamp, body)
		fatal.If(t, err)
		if !slices.ContainsFunc(strings.Split(signatures, " "), func(s string) bool { return slices.Contains(strings.Fields(again), s) }) {
			t.Fatalf("accepted %q, the signatures are %q", signatures, again)
		}
	})
}

func FuzzCheckSecret(f *testing.F) {
	f.Add(older)
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("whsec_=\n")
	f.Fuzz(func(t *testing.T, s string) {
		key, err := keyOf(s)
		switch {
		case err != nil:
			if key != nil {
				t.Fatalf("an error, and %d bytes", len(key))
			}
		case len(key) < 24 || len(key) > 64 || secretPrefix+base64.StdEncoding.EncodeToString(key) != s:
			t.Fatalf("%q is read as %d bytes", s, len(key))
		}
	})
}
