package redact

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns the log of the server, which removes secrets in two ways. It
// replaces the value of an attribute with the name of a secret, and text that
// looks like a secret anywhere in a line.
func NewLogger(w io.Writer, format, level string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // kong has checked the value
	opts := &slog.HandlerOptions{Level: least, ReplaceAttr: withoutSecretAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(redactor{w}, opts))
	}
	return slog.New(slog.NewTextHandler(redactor{w}, opts))
}

const redacted = "[redacted]"

// secretNames lists attributes, headers and fields with secret values.
var secretNames = map[string]bool{
	"authorization": true, "proxy-authorization": true, "cookie": true, "set-cookie": true,
	"token": true, "access_token": true, "secret": true, "signing_secret": true, "password": true, "webhook-signature": true,
}

func withoutSecretAttr(_ []string, a slog.Attr) slog.Attr {
	if secretNames[strings.ToLower(a.Key)] {
		return slog.String(a.Key, redacted)
	}
	return a
}

// secrets matches secrets anywhere in a text: tokens, signing secrets,
// credentials, and passwords and keys in URLs. The text around a secret stays, so
// that a reader sees the kind of the secret.
var secrets = regexp.MustCompile(`(foliot_)[A-Za-z0-9_-]{16,}` +
	`|(whsec_)[A-Za-z0-9+/_=-]{8,}` +
	`|((?i:bearer|basic)[ +])[A-Za-z0-9._~+/=-]{8,}` +
	`|([?&](?i:[a-z_-]*(?:token|secret|password|signature|sig|key))=)[^&\s"'\\]+` +
	`|(://)[^\s/?#@"'<>\\]+(@)`)

// Text returns s with each secret replaced by [redacted].
func Text(s string) string {
	return secrets.ReplaceAllStringFunc(s, func(found string) string {
		if found == exampleUser || metricName.MatchString(found) {
			return found
		}
		return secrets.ReplaceAllString(found, "${1}${2}${3}${4}${5}"+redacted+"${6}")
	})
}

// metricName matches the names of our metrics, which begin like tokens. The
// chance that a token, or 16 letters of one, has only small letters and
// underscores is 1 in a million.
var metricName = regexp.MustCompile(`^foliot_[a-z_]+$`)

// exampleUser is part of the example URLs in errors.
const exampleUser = "://USER:PASSWORD@"

// redactor replaces secrets in each Write. Secrets that span two calls of Write
// are not found, but log handlers write whole lines.
type redactor struct{ w io.Writer }

func (r redactor) Write(line []byte) (int, error) {
	if !secrets.Match(line) {
		return r.w.Write(line)
	}
	if _, err := io.WriteString(r.w, Text(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
