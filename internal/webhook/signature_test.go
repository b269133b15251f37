package webhook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	official "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/webhook"
)

// secretOf returns a signing secret of 32 bytes, all of them n.
func secretOf(n byte) string {
	return settings.SecretPrefix + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{n}, 32))
}

var older, newer = secretOf(1), secretOf(2)

// sign returns the signatures of a callback, or "" without secrets.
func sign(secrets []string, id string, at time.Time, body string) string {
	if len(secrets) == 0 {
		return ""
	}
	signatures, err := webhook.Sign(secrets, id, at, []byte(body))
	if err != nil {
		panic(err)
	}
	return signatures
}

// officially reports whether the standard's own library accepts a callback.
func officially(t *testing.T, secret string, h http.Header, body []byte) error {
	t.Helper()
	w, err := official.NewWebhook(secret)
	fatal.If(t, err)
	return w.Verify(body, h)
}

func TestTheOfficialLibraryAcceptsEveryCallback(t *testing.T) {
	url, requests := receiver(t)
	secrets := []string{newer, older}
	s := newSender(t, Config{Secrets: func(namespace, queue string) []string {
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
		if n := len(strings.Fields(r.Header.Get(webhook.HeaderSignature))); n != 2 {
			t.Errorf("%s: %d signatures", c.method, n)
		}
		for _, secret := range secrets {
			if err := officially(t, secret, r.Header, []byte(r.body)); err != nil {
				t.Errorf("%s with %d bytes: %v", c.method, len(r.body), err)
			}
			if _, err := webhook.Verify([]string{secret}, r.Header, []byte(r.body), webhook.Options{}); err != nil {
				t.Errorf("%s with %d bytes, by ourselves: %v", c.method, len(r.body), err)
			}
		}
		if officially(t, secretOf(3), r.Header, []byte(r.body)) == nil {
			t.Error("a secret that never signed is accepted: the test proves nothing")
		}
	}
}

// The headers of an attempt have the names and forms that a receiver reads.
func TestAReceiverReadsWhatTheSenderSends(t *testing.T) {
	url, requests := receiver(t)
	s := newSender(t, Config{Secrets: func(string, string) []string { return []string{older} }})
	d := delivery(t, url, body(task.JSONBody, `{"order":42}`))
	d.Number = 3
	s.Deliver(t.Context(), d)
	r := <-requests
	e, err := webhook.Verify([]string{older}, r.Header, []byte(r.body), webhook.Options{})
	fatal.If(t, err)
	if e.ID != d.Task.ID || string(e.Body) != `{"order":42}` || e.Task != d.Task.Name || e.Queue != d.Task.Queue ||
		!e.DueAt.Equal(d.Task.OriginalDue.Time()) || e.Attempt != 3 || e.MaxAttempts != d.Task.Retry.MaxAttempts {
		t.Errorf("it reads %+v", e)
	}
	d.Task.Name = "nightly@1732309200000"
	s.Deliver(t.Context(), d)
	r = <-requests
	e, err = webhook.Verify([]string{older}, r.Header, []byte(r.body), webhook.Options{})
	fatal.If(t, err)
	if e.Schedule != "nightly" || e.Instant.UnixMilli() != 1732309200000 {
		t.Errorf("it reads the schedule %q, and %v", e.Schedule, e.Instant)
	}
}

func TestARequestWithAnInvalidSecretIsNotSent(t *testing.T) {
	url, requests := receiver(t)
	s := newSender(t, Config{Secrets: func(string, string) []string { return []string{older, "whsec_x"} }})
	o := s.Deliver(t.Context(), delivery(t, url))
	if o.Verdict == task.Success || !strings.Contains(o.Error, "a signing secret is whsec_") || len(requests) > 0 {
		t.Errorf("%+v", o)
	}
}

func TestANamespaceWithoutASecretIsNotSigned(t *testing.T) {
	for name, secrets := range map[string]func(string, string) []string{
		"no function": nil,
		"nil":         func(string, string) []string { return nil },
		"none":        func(string, string) []string { return []string{} },
	} {
		url, requests := receiver(t)
		newSender(t, Config{Secrets: secrets}).Deliver(t.Context(), delivery(t, url))
		if r := <-requests; len(r.Header.Values(webhook.HeaderSignature)) > 0 || r.Header.Get(webhook.HeaderID) == "" {
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
	secrets := map[string]string{}
	for i, queue := range []string{"", "billing", "mail"} {
		secrets[queue] = secretOf(byte(i + 1))
		changes, err := settings.AddSecret{Namespace: "default", Queue: queue, ID: fmt.Sprint(i), Secret: secrets[queue]}.Apply(1, current)
		fatal.If(t, err)
		current = current.With(changes...)
	}
	s := newSender(t, Config{Secrets: func(namespace, queue string) (live []string) {
		for _, secret := range current.Secrets(namespace, queue, 2) {
			live = append(live, secret.Secret)
		}
		return live
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
	var live []string
	s := newSender(t, Config{Secrets: func(string, string) []string { return live }})
	for _, step := range []struct {
		signs    []string
		receiver []string // each of them must accept
	}{
		{[]string{older}, []string{older}},
		{[]string{newer, older}, []string{older, newer}},
		{[]string{newer}, []string{newer}},
	} {
		live = step.signs
		s.Deliver(t.Context(), delivery(t, url, body(task.TextBody, "hello")))
		r := <-requests
		for i, secret := range step.receiver {
			if err := officially(t, secret, r.Header, []byte(r.body)); err != nil {
				t.Errorf("signed with %d secrets, receiver %d: %v", len(step.signs), i, err)
			}
		}
		first, _, _ := strings.Cut(r.Header.Get(webhook.HeaderSignature), " ")
		if want := sign(step.signs[:1], r.Header.Get(webhook.HeaderID), sentAt(t, r.Header), r.body); first != want {
			t.Errorf("the newest secret's signature does not come first: %s", first)
		}
	}
}

func sentAt(t *testing.T, h http.Header) time.Time {
	t.Helper()
	seconds, err := strconv.ParseInt(h.Get(webhook.HeaderTimestamp), 10, 64)
	fatal.If(t, err)
	return time.Unix(seconds, 0)
}

func TestEachAttemptIsSignedForItsOwnTime(t *testing.T) {
	d := delivery(t, "http://127.0.0.1/", body(task.TextBody, "hello"))
	s := New(Config{Secrets: func(string, string) []string { return []string{older} }})
	defer s.Close()
	for _, now := range []time.Time{time.Unix(1_800_000_000, 999), time.Unix(1_800_003_600, 0)} {
		r := request(t, s, d, now)
		if got := r.Header.Get(webhook.HeaderTimestamp); got != fmt.Sprint(now.Unix()) {
			t.Errorf("the timestamp is %s at %d", got, now.Unix())
		}
		if _, err := webhook.Verify([]string{older}, r.Header, d.Task.Request.Body, webhook.Options{Now: func() time.Time { return now }}); err != nil {
			t.Error(err)
		}
	}
}
