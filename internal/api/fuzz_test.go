package api

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/timespan"
)

// A header is accepted as a token only in the one valid form.
func FuzzBearer(f *testing.F) {
	token, hash := settings.MintToken()
	for _, seed := range []string{"Bearer " + token, "bearer  " + token, token, "Basic " + token, "Bearer " + token[:20], "Bearer ", "", "Bearer foliot_" + strings.Repeat("A", 48)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := bearer(&http.Request{Header: http.Header{"Authorization": {value}}})
		if !ok {
			if value == "Bearer "+token {
				t.Fatal("the token is refused")
			}
			return
		}
		scheme, shown, _ := strings.Cut(value, " ")
		shown = strings.Trim(shown, " ")
		if !strings.EqualFold(scheme, "bearer") || !strings.HasPrefix(shown, settings.TokenPrefix) || len(shown) != len(token) {
			t.Fatalf("%q is taken for a token", value)
		}
		if got == hash && shown != token {
			t.Fatalf("%q is taken for another token", value)
		}
	})
}

// An accepted span is valid, and is accepted again with the same value.
func FuzzTraceparent(f *testing.F) {
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, seed := range []string{span, "cc" + span[2:] + "-x", span + "-", "ff" + span[2:], strings.ToUpper(span), span[:54], "00-" + strings.Repeat("0", 32) + span[35:], ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got := traceparent(value)
		if got == "" {
			return
		}
		if len(got) != len(span) || got[:3] != "00-" || got != traceparent(got) || got[2:] != value[2:len(span)] || strings.Trim(got, "0123456789abcdef-") != "" {
			t.Fatalf("%q became %q", value, got)
		}
	})
}

// A setting with any content is accepted or refused with a code that has a
// status. Accepted values are in their ranges.
func FuzzSettings(f *testing.F) {
	for _, seed := range []string{
		`{"name": "q", "rate": 0.5, "managed_by": "team", "burst": 5, "concurrency": 20, "per_destination": 4, "timeout": "5s", "expire_after": "30m", "on_dead": "https://a/", "keep_dead": "48h", "keep_finished": "1h",
		  "retry": {"max_attempts": 3, "min_backoff": "2s", "max_backoff": "2m", "max_age": "2h"}}`,
		`{"for": "10m"}`, `{"until": "2100-01-01T00:00:00Z"}`, `{"for": "1ns", "until": "x"}`,
		`{"scope": "read", "namespace": "*", "label": "x", "expires_in": "1h"}`, `{"scope": "admin", "expires_at": "2100-01-01T00:00:00+02:00"}`,
		`{"secret": "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "overlap": "24h"}`, `{"max_pending": 1, "max_bytes": 2, "create_rate": 1e2, "create_burst": 3}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		q, n, owner := settings.QueueSettings{Name: "q"}, settings.NamespaceSettings{Name: "q"}, (*string)(nil)
		now := func() task.Millis { return task.CeilMillis(time.Now()) }
		token, secret, pause := settings.AddToken{}, settings.AddSecret{}, end{now: now}
		at := now()
		errs := []error{
			document(data, func(r *reader) error { return r.decodeQueue(&q, &owner) }),
			document(data, func(r *reader) error { return r.decodeNamespace(&n, &owner) }),
			document(data, func(r *reader) error { return r.decodeToken(&token, now) }),
			document(data, func(r *reader) error { return r.decodeSecret(&secret) }),
			document(data, pause.decodePause),
		}
		for _, err := range append(errs, q.Validate(), n.Validate()) {
			if _, known := statusByCode[codeOf(err)]; err != nil && !known {
				t.Fatalf("%q: %v has code %q", data, err, codeOf(err))
			}
		}
		end := at.Add(task.MaxDuration) + 10_000
		switch {
		case errs[2] == nil && (!token.Scope.Valid() || token.ExpiresAt != 0 && token.ExpiresAt <= at || token.ExpiresAt > end):
			t.Fatalf("%q is a token: %+v", data, token)
		case errs[3] == nil && (secret.Overlap < 0 || secret.Overlap > end || secret.Secret != "" && !strings.HasPrefix(secret.Secret, settings.SecretPrefix)):
			t.Fatalf("%q is a secret: %+v", data, secret)
		case errs[4] == nil && (pause.at != 0 && pause.at < at || pause.at > end):
			t.Fatalf("%q is a pause: %+v", data, pause)
		}
	})
}

// A cursor is valid or refused, and only one cursor exists for each position.
func FuzzCursor(f *testing.F) {
	s := newSealer()
	f.Add(s.seal("acme", 42))
	f.Add(cursor(nameCursor, "order-42"))
	f.Add(cursor(endedCursor, task.EndedPlace(42, "order-42")))
	f.Add("MTE")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if n, err := s.open("acme", text); err == nil && s.seal("acme", n) != text {
			t.Fatalf("%q is taken for %d", text, n)
		}
		for _, format := range []string{nameCursor, endedCursor} {
			if after, err := parseCursor(format, text); err == nil && after != "" {
				if again, err := parseCursor(format, cursor(format, after)); err != nil || again != after {
					t.Fatalf("%q is taken for %q", text, after)
				}
			}
		}
	})
}

// For any headers of a request, its task sends those that describe the body and
// those that the caller marked for it.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"X-Forwarded-For", "Foliot-Forward-X-Shop", "foliot-forward-", "Content-Type", "Content_Type", "Foliot-Forward-Content-Type", "Foliot-Forwardx"} {
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		name = http.CanonicalHeaderKey(name)
		all, _ := forwarded(http.Header{name: {value}})
		for sent, got := range all {
			switch {
			case got != value:
				t.Errorf("%q: %q is sent as %q", name, value, got)
			case slices.Contains(contentHeaders, name) && sent == name:
			case strings.EqualFold(name, forwardPrefix+sent):
			default:
				t.Errorf("%q is sent as %q", name, sent)
			}
		}
	})
}

var (
	documented = regexp.MustCompile(durationPattern)
	digit      = regexp.MustCompile(`[0-9]`)
)

// agree checks that the pattern in OpenAPI accepts the same texts as the
// parser. The pattern does not know which durations are too long.
func agree(t *testing.T, s string) {
	t.Helper()
	_, err := parseDuration("", s)
	switch matched := documented.MatchString(s); {
	case err == nil && !matched:
		t.Errorf("the parser takes %q, the pattern does not", s)
	case err != nil && matched:
		if _, err := timespan.Parse(digit.ReplaceAllString(s, "0")); err != nil {
			t.Errorf("the pattern takes %q, the parser does not: %v", s, err)
		}
	}
}

var durations = strings.Fields(`0 +0 -0 00 0s 1d12h 1h1d 1d0 1d.5h 1d-1h 0.5d -1d1h .d 90s 1h30m 250ms 1.5h 1.h .5h . .s 1 1d 1w 1y -1s +1s --1s +-1s 1s-1s 5us 5µs 5μs 5ns
	1m1m 1ms1s 1hm h 1h1 1e3s 1_000s 0x1s 1S 1H ٣s 1,5s 9999999999h 9223372036854775807ns 9223372036854775808ns P1D PT1H soon`)

func FuzzTheDocumentedDurationIsTheParsers(f *testing.F) {
	for _, s := range append(durations, "", " 1s", "1s ", "1 s", "1s\n", "\n1s") {
		f.Add(s)
	}
	f.Fuzz(agree)
}
