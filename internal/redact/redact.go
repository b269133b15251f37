package redact

import (
	"io"
	"log/slog"
	"regexp"
	"strings"
)

// NewLogger returns the server's log. Two nets keep secrets out of it: attributes
// whose name says that they hold one lose their value, and whatever looks like
// one anywhere in a line is cut out of it.
func NewLogger(w io.Writer, format, level string) *slog.Logger {
	var least slog.Level
	_ = least.UnmarshalText([]byte(level)) // kong has checked the word
	opts := &slog.HandlerOptions{Level: least, ReplaceAttr: withoutSecretAttr}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(redactor{w}, opts))
	}
	return slog.New(slog.NewTextHandler(redactor{w}, opts))
}

const redacted = "[redacted]"

// secretNames are attributes, headers and fields whose value is nobody's business.
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

// secrets matches what is recognised anywhere: our tokens, signing secrets,
// credentials, and passwords and keys in URLs. Of each the words around it
// stay, so that a reader sees what was there.
var secrets = regexp.MustCompile(`(foliot_)[A-Za-z0-9_-]{16,}` +
	`|(whsec_)[A-Za-z0-9+/_=-]{8,}` +
	`|((?i:bearer|basic)[ +])[A-Za-z0-9._~+/=-]{8,}` +
	`|([?&](?i:[a-z_-]*(?:token|secret|password|signature|sig|key))=)[^&\s"'\\]+` +
	`|(://)[^\s/?#@"'<>\\]+(@)`)

// Text returns s with [redacted] in the place of secrets.
func Text(s string) string {
	return secrets.ReplaceAllStringFunc(s, func(found string) string {
		if found == exampleUser || metricName.MatchString(found) {
			return found
		}
		return secrets.ReplaceAllString(found, "${1}${2}${3}${4}${5}"+redacted+"${6}")
	})
}

// metricName matches the names of our metrics, which begin as tokens do. That a
// token, or 16 letters of one, has small letters and underscores alone is unlikely: 1 in a million.
var metricName = regexp.MustCompile(`^foliot_[a-z_]+$`)

// exampleUser stands in the URLs that errors show for examples.
const exampleUser = "://USER:PASSWORD@"

// redactor takes secrets out of what is written to it. It looks at each Write
// by itself: log handlers write whole lines.
type redactor struct{ w io.Writer }

// Write implements io.Writer.
func (r redactor) Write(line []byte) (int, error) {
	if !secrets.Match(line) {
		return r.w.Write(line)
	}
	if _, err := io.WriteString(r.w, Text(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}
