package redact

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/settings"
)

// Secrets that must never be logged.
const (
	signingSecret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	urlPassword   = "hunter2"
	basicSecret   = "dXNlcjpodW50ZXIy"
)

func TestNoSecretIsLogged(t *testing.T) {
	token, _ := settings.MintToken()
	header := http.Header{"Authorization": {"Bearer " + token}, "Webhook-Signature": {"v1,abcdefghijklmnop"}}
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		log := NewLogger(&out, format, "debug")
		wrapped := fmt.Errorf("dial https://user:%s@receiver.example/x: %w", urlPassword, errors.New(token))
		log.Info("a message with "+token+" in it", "plain", token, "error", wrapped, "any", header, "struct", struct{ Secret string }{signingSecret})
		log.With("bound", signingSecret).WithGroup("g").Warn("grouped", slog.Group("inner", "deep", token, "password", urlPassword))
		log.Debug("named", "authorization", "anything at all: "+urlPassword, "Token", urlPassword, "secret", []byte(urlPassword))
		log.Error("credentials", "header", "Basic "+basicSecret, "url", "http://127.0.0.1/?a=1&token="+urlPassword+"&b=2")
		log.Log(t.Context(), slog.LevelInfo, "stringer", "value", slog.AnyValue(bytes.NewBufferString(token)), "list", []string{"x", token})
		slog.NewLogLogger(log.Handler(), slog.LevelWarn).Printf("http: odd request with %s", token)
		for _, secret := range []string{token, token[:40], signingSecret, urlPassword, basicSecret} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s: the log holds %s:\n%s", format, secret, out.String())
			}
		}
		for _, kept := range []string{"a message with foliot_[redacted] in it", "receiver.example/x", "b=2", "whsec_[redacted]"} {
			if !strings.Contains(out.String(), kept) {
				t.Errorf("%s: the log has lost %q:\n%s", format, kept, out.String())
			}
		}
	}
}

func TestOtherTextIsLoggedUnchanged(t *testing.T) {
	for _, s := range []string{
		"the data directory /var/lib/foliot_data-1 failed", "foliot_attempts", "foliot_schedule_skipped_total, foliot_audit_dropped_total", "https://receiver.example/a@b", "http://[::1]:80/?q=1&page=2",
		"bearer of bad news", "mail to ops@example", "such as redis://USER:PASSWORD@HOST:6379?db=0", `"key":"value"`, "basic auth", "task a.b:c-d_e",
	} {
		if got := Text(s); got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

// FuzzRedact checks that a token is found in any text.
func FuzzRedact(f *testing.F) {
	f.Add("before ", " after")
	f.Add("Bearer ", "\n")
	f.Add("://", "@")
	f.Add("?token=", "&x=")
	f.Add("foliot_", "foliot_")
	token, _ := settings.MintToken()
	f.Fuzz(func(t *testing.T, before, after string) {
		if got := Text(before + token + after); strings.Contains(got, token[len(settings.TokenPrefix):]) {
			t.Errorf("%q + a token + %q became %q", before, after, got)
		}
	})
}
