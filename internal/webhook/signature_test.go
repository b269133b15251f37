package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	official "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
)

// key returns a key of size bytes, all of them n.
func key(n byte, size int) []byte { return bytes.Repeat([]byte{n}, size) }

var (
	older = key(1, 32)
	newer = key(2, 32)
)

// officially reports whether the standard's own library accepts a callback.
func officially(t *testing.T, secret []byte, h http.Header, body []byte) error {
	t.Helper()
	w, err := official.NewWebhook(FormatSecret(secret))
	fatal.If(t, err)
	return w.Verify(body, h)
}

// signedHeaders returns the three headers of a callback.
func signedHeaders(keys [][]byte, id string, at time.Time, body string) http.Header {
	h := http.Header{}
	h.Set(HeaderID, id)
	h.Set(HeaderTimestamp, fmt.Sprint(at.Unix()))
	h.Set(HeaderSignature, Sign(keys, id, at, []byte(body)))
	return h
}

// The example in the standard's own documentation.
func TestTheStandardsExampleHasItsSignature(t *testing.T) {
	secret, err := ParseSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	fatal.If(t, err)
	got := Sign([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestTheOfficialLibraryAcceptsEveryCallback(t *testing.T) {
	url, requests := receiver(t)
	secrets := [][]byte{newer, older}
	s := newSender(t, Config{Secrets: func(namespace, queue string) [][]byte {
		if namespace != "default" {
			t.Errorf("asked for the secrets of %q", namespace)
		}
		return secrets
	}})
	for _, c := range []struct {
		method, body string
		kind         task.BodyKind
	}{
		{"POST", `{"order": 42, "n": 12345678901234567890}`, task.JSONBody},
		{"POST", "grüße\r\n", task.TextBody},
		{"PUT", "\x00\xff.\x00", task.BinaryBody},
		{"PATCH", strings.Repeat("x", task.MaxBody), task.BinaryBody},
		{"POST", "", task.NoBody},
		{"GET", "", task.NoBody},
		{"DELETE", "", task.NoBody},
	} {
		o := s.Deliver(t.Context(), delivery(t, url, method(c.method), body(c.kind, c.body)))
		if o.Verdict != task.Success {
			t.Fatalf("%s: %+v", c.method, o)
		}
		r := <-requests
		if n := len(strings.Fields(r.Header.Get(HeaderSignature))); n != 2 {
			t.Errorf("%s: %d signatures", c.method, n)
		}
		for _, secret := range secrets {
			if err := officially(t, secret, r.Header, []byte(r.body)); err != nil {
				t.Errorf("%s with %d bytes: %v", c.method, len(r.body), err)
			}
			if err := Verify([][]byte{secret}, r.Header, []byte(r.body), time.Now()); err != nil {
				t.Errorf("%s with %d bytes, by ourselves: %v", c.method, len(r.body), err)
			}
		}
		if officially(t, key(3, 32), r.Header, []byte(r.body)) == nil {
			t.Error("a key that never signed is accepted: the test proves nothing")
		}
	}
}

func TestANamespaceWithoutASecretIsNotSigned(t *testing.T) {
	for name, secrets := range map[string]func(string, string) [][]byte{
		"no function": nil,
		"nil":         func(string, string) [][]byte { return nil },
		"none":        func(string, string) [][]byte { return [][]byte{} },
	} {
		url, requests := receiver(t)
		newSender(t, Config{Secrets: secrets}).Deliver(t.Context(), delivery(t, url))
		if r := <-requests; len(r.Header.Values(HeaderSignature)) > 0 || r.Header.Get(HeaderID) == "" {
			t.Errorf("%s: %v", name, r.Header)
		}
	}
}

// A receiver can forward, or sign by itself, any callback for which its secret
// is valid. With one secret for each queue, the receiver of another queue
// refuses such a callback.
func TestAReceiverCanNeitherForwardNorForgeCallbacksToAnotherQueue(t *testing.T) {
	url, requests := receiver(t)
	current := settings.NewSettings()
	secrets := map[string][]byte{}
	for i, queue := range []string{"", "billing", "mail"} {
		secrets[queue] = key(byte(i+1), 32)
		changes, err := settings.AddSecret{Namespace: "default", Queue: queue, ID: fmt.Sprint(i), Secret: FormatSecret(secrets[queue])}.Apply(1, current)
		fatal.If(t, err)
		current = current.With(changes...)
	}
	s := newSender(t, Config{Secrets: func(namespace, queue string) (keys [][]byte) {
		for _, secret := range current.Secrets(namespace, queue, 2) {
			k, err := ParseSecret(secret.Secret)
			if err != nil {
				t.Error(err)
			}
			keys = append(keys, k)
		}
		return keys
	}})
	for queue, whose := range map[string]string{"billing": "billing", "mail": "mail", "default": "", "on_dead": ""} {
		o := s.Deliver(t.Context(), delivery(t, url, body(task.TextBody, "pay 100"), func(spec *task.Spec) { spec.Queue = queue }))
		if o.Verdict != task.Success {
			t.Fatalf("%+v", o)
		}
		r := <-requests
		for receiver, secret := range secrets {
			if err := officially(t, secret, r.Header, []byte(r.body)); (err == nil) != (receiver == whose) {
				t.Errorf("a callback of the queue %q, at a receiver with the secret of %q: %v", queue, receiver, err)
			}
		}
	}
}

// One receiver keeps the old secret, and one changes to the new secret in the
// middle of the rotation.
func TestASecretRotationRejectsNoCallback(t *testing.T) {
	url, requests := receiver(t)
	var live [][]byte
	s := newSender(t, Config{Secrets: func(string, string) [][]byte { return live }})
	for _, step := range []struct {
		signs    [][]byte
		receiver [][]byte // each of them must accept
	}{
		{[][]byte{older}, [][]byte{older}},
		{[][]byte{newer, older}, [][]byte{older, newer}},
		{[][]byte{newer}, [][]byte{newer}},
	} {
		live = step.signs
		s.Deliver(t.Context(), delivery(t, url, body(task.TextBody, "hello")))
		r := <-requests
		for _, k := range step.receiver {
			if err := officially(t, k, r.Header, []byte(r.body)); err != nil {
				t.Errorf("signed by %d keys, a receiver with key %d: %v", len(step.signs), k[0], err)
			}
		}
		first, _, _ := strings.Cut(r.Header.Get(HeaderSignature), " ")
		if want := Sign(step.signs[:1], r.Header.Get(HeaderID), sentAt(t, r.Header), []byte(r.body)); first != want {
			t.Errorf("the newest secret's signature does not come first: %s", first)
		}
	}
}

func sentAt(t *testing.T, h http.Header) time.Time {
	t.Helper()
	at, err := parseTimestamp(h.Get(HeaderTimestamp))
	fatal.If(t, err)
	return at
}

func TestEachAttemptIsSignedForItsOwnTime(t *testing.T) {
	d := delivery(t, "http://127.0.0.1/", body(task.TextBody, "hello"))
	s := New(Config{Secrets: func(string, string) [][]byte { return [][]byte{older} }})
	defer s.Close()
	for _, now := range []time.Time{time.Unix(1_800_000_000, 999), time.Unix(1_800_003_600, 0)} {
		r := request(t, s, d, now)
		if got := r.Header.Get(HeaderTimestamp); got != fmt.Sprint(now.Unix()) {
			t.Errorf("the timestamp is %s at %d", got, now.Unix())
		}
		if err := Verify([][]byte{older}, r.Header, d.Task.Request.Body, now); err != nil {
			t.Error(err)
		}
	}
}

func TestForgedCallbacksAreRefused(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	const id, text = "0198c0de-0000-7000-8000-000000000042", `{"order":42}`
	signature := func(h http.Header, edit func(string) string) { h.Set(HeaderSignature, edit(h.Get(HeaderSignature))) }
	for _, c := range []struct {
		name string
		edit func(h http.Header)
		body string
		want error
	}{
		{"nothing changed", func(http.Header) {}, text, nil},
		{"another body", func(http.Header) {}, `{"order":43}`, errNoMatch},
		{"a body with a space more", func(http.Header) {}, text + " ", errNoMatch},
		{"no body", func(http.Header) {}, "", errNoMatch},
		{"another id", func(h http.Header) { h.Set(HeaderID, id[:35]+"3") }, text, errNoMatch},
		{"another time", func(h http.Header) { h.Set(HeaderTimestamp, "1800000001") }, text, errNoMatch},
		{"the same time, written otherwise", func(h http.Header) { h.Set(HeaderTimestamp, "01800000000") }, text, errNoMatch},
		{"another key", func(h http.Header) { h.Set(HeaderSignature, Sign([][]byte{newer}, id, now, []byte(text))) }, text, errNoMatch},
		{"an empty key", func(h http.Header) { h.Set(HeaderSignature, Sign([][]byte{{}}, id, now, []byte(text))) }, text, errNoMatch},
		{"a bit of the signature", func(h http.Header) {
			signature(h, func(s string) string { return s[:5] + string(s[5]^1) + s[6:] })
		}, text, errNoMatch},
		{"half a signature", func(h http.Header) { signature(h, func(s string) string { return s[:20] }) }, text, errNoMatch},
		{"no version", func(h http.Header) { signature(h, func(s string) string { return s[3:] }) }, text, errNoMatch},
		{"an unknown version", func(h http.Header) { signature(h, func(s string) string { return "v2" + s[2:] }) }, text, errNoMatch},
		{"the asymmetric version", func(h http.Header) { signature(h, func(s string) string { return "v1a" + s[2:] }) }, text, errNoMatch},
		{"a version in capitals", func(h http.Header) { signature(h, strings.ToUpper) }, text, errNoMatch},
		{"an empty signature", func(h http.Header) { h.Set(HeaderSignature, "v1,") }, text, errNoMatch},
		{"spaces alone", func(h http.Header) { h.Set(HeaderSignature, "   ") }, text, errNoMatch},
		{"a comma between signatures", func(h http.Header) { signature(h, func(s string) string { return "v1,x," + s }) }, text, errNoMatch},

		{"others next to the right one", func(h http.Header) {
			signature(h, func(s string) string { return "v2,abc v1a,def v1,short  nonsense " + s + " v1," })
		}, text, nil},

		{"no signature", func(h http.Header) { h.Del(HeaderSignature) }, text, errUnsigned},
		{"no id", func(h http.Header) { h.Del(HeaderID) }, text, errMalformed},
		{"no time", func(h http.Header) { h.Del(HeaderTimestamp) }, text, errMalformed},
		{"two ids", func(h http.Header) { h.Add(HeaderID, "other") }, text, errMalformed},
		{"two times", func(h http.Header) { h.Add(HeaderTimestamp, "1800000000") }, text, errMalformed},
		{"two signature headers", func(h http.Header) { h.Add(HeaderSignature, "v1,x") }, text, errMalformed},
		{"a time with a sign", func(h http.Header) { h.Set(HeaderTimestamp, "+1800000000") }, text, errMalformed},
		{"a negative time", func(h http.Header) { h.Set(HeaderTimestamp, "-1") }, text, errMalformed},
		{"a time in milliseconds", func(h http.Header) { h.Set(HeaderTimestamp, "1800000000000") }, text, errTooNew},
		{"a date", func(h http.Header) { h.Set(HeaderTimestamp, "2027-01-15T08:00:00Z") }, text, errMalformed},
		{"an endless time", func(h http.Header) { h.Set(HeaderTimestamp, strings.Repeat("9", 40)) }, text, errMalformed},
		{"the largest time", func(h http.Header) { h.Set(HeaderTimestamp, fmt.Sprint(uint64(math.MaxInt64))) }, text, errMalformed},
		{"the time zero", func(h http.Header) { h.Set(HeaderTimestamp, "0") }, text, errTooOld},
	} {
		h := signedHeaders([][]byte{older}, id, now, text)
		c.edit(h)
		if err := Verify([][]byte{older}, h, []byte(c.body), now); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestWithoutAKeyNoSignatureIsAccepted(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := signedHeaders([][]byte{{}, older}, "id", now, "")
	for _, keys := range [][][]byte{nil, {}} {
		if err := Verify(keys, h, nil, now); !errors.Is(err, errNoMatch) {
			t.Errorf("%v: %v", keys, err)
		}
	}
}

func TestAReplayIsRefusedAfterFiveMinutes(t *testing.T) {
	sent := time.Unix(1_800_000_000, 0)
	h := signedHeaders([][]byte{older}, "id", sent, "hello")
	for _, c := range []struct {
		after time.Duration
		want  error
	}{
		{0, nil},
		{tolerance, nil},
		{tolerance + 1, errTooOld},
		{24 * time.Hour, errTooOld},
		{-tolerance, nil},
		{-tolerance - 1, errTooNew},
		{-24 * time.Hour, errTooNew},
	} {
		if err := Verify([][]byte{older}, h, []byte("hello"), sent.Add(c.after)); !errors.Is(err, c.want) {
			t.Errorf("%v after it was sent: %v, want %v", c.after, err, c.want)
		}
	}
}

// The signature of id "a", a time and the body "<time>.rest" covers the same
// bytes as that of the id "a.<time>", the second time and the body "rest".
func TestADotInAnIDDoesNotChangeWhereTheBodyBegins(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	h := signedHeaders([][]byte{older}, "a", now, "1800000000.rest")
	h.Set(HeaderID, "a.1800000000")
	if err := Verify([][]byte{older}, h, []byte("rest"), now); !errors.Is(err, errMalformed) {
		t.Errorf("got %v", err)
	}
}

func TestASecretIsReadStrictly(t *testing.T) {
	for _, size := range []int{24, 25, 32, 63, 64} {
		want := key(7, size)
		got, err := ParseSecret(FormatSecret(want))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d bytes: %v, %v", size, got, err)
		}
	}
	good := FormatSecret(key(7, 32))
	for name, s := range map[string]string{
		"empty":              "",
		"the prefix alone":   "whsec_",
		"no prefix":          strings.TrimPrefix(good, "whsec_"),
		"another prefix":     "whsk_" + strings.TrimPrefix(good, "whsec_"),
		"prefix in capitals": strings.ToUpper(good[:6]) + good[6:],
		"23 bytes":           FormatSecret(key(7, 23)),
		"65 bytes":           FormatSecret(key(7, 65)),
		"no padding":         strings.TrimRight(good, "="),
		"a space before":     " " + good,
		"a line break after": good + "\n",
		"a line break":       good[:20] + "\n" + good[20:],
		"another alphabet":   "whsec_" + strings.Repeat("_-_-", 10),
		"loose last bits":    good[:len(good)-2] + "d=", // the same bytes for a lenient reader
		"no base64":          "whsec_!!!!",
	} {
		got, err := ParseSecret(s)
		if err == nil || got != nil {
			t.Errorf("%s: %q is read as %d bytes", name, s, len(got))
		} else if s != "" && strings.Contains(err.Error(), strings.TrimPrefix(s, "whsec_")) && len(s) > 10 {
			t.Errorf("%s: the error shows the secret: %v", name, err)
		}
	}
}

func FuzzVerify(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	h := signedHeaders([][]byte{older, newer}, "id", now, "body")
	f.Add("id", "1800000000", h.Get(HeaderSignature), []byte("body"))
	f.Add("id", "1800000000", "v1, v2,x v1,"+strings.Repeat("A", 43)+"=", []byte(nil))
	f.Add("a.b", "-1", "v1a,x", []byte("1.2.3"))
	f.Add("", "99999999999999999999", "   ", []byte("."))
	f.Fuzz(func(t *testing.T, id, stamp, signatures string, body []byte) {
		h := http.Header{HeaderID: {id}, HeaderTimestamp: {stamp}, HeaderSignature: {signatures}}
		if Verify([][]byte{newer, older}, h, body, now) != nil {
			return
		}
		// An accepted callback was signed: a new signature of it equals one of
		// its signatures.
		at, err := parseTimestamp(stamp)
		if err != nil || now.Sub(at).Abs() > tolerance || id == "" || strings.Contains(id, ".") {
			t.Fatalf("accepted id %q at %q", id, stamp)
		}
		again := strings.Fields(Sign([][]byte{newer, older}, id, at, body))
		if !slices.ContainsFunc(strings.Split(signatures, " "), func(s string) bool { return slices.Contains(again, s) }) {
			t.Fatalf("accepted %q, the signatures are %q", signatures, again)
		}
	})
}

func FuzzParseSecret(f *testing.F) {
	f.Add(FormatSecret(older))
	f.Add("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	f.Add("whsec_=\n")
	f.Fuzz(func(t *testing.T, s string) {
		secret, err := ParseSecret(s)
		switch {
		case err != nil:
			if secret != nil {
				t.Fatalf("an error, and %d bytes", len(secret))
			}
		case len(secret) < 24 || len(secret) > 64 || FormatSecret(secret) != s:
			t.Fatalf("%q is read as %d bytes, written as %q", s, len(secret), FormatSecret(secret))
		}
	})
}
