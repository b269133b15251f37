package spelling

import (
	"strings"
	"testing"
)

func TestNearestFindsTheIntendedWord(t *testing.T) {
	known := []string{"name", "queue", "delay", "labels", "timeout", "http", "http.url", "http.headers", "retry.max_attempts", "retry.min_backoff", "timezone"}
	for word, want := range map[string]string{
		"quue": "queue", "Queue": "queue", "queu": "queue", "delai": "delay", "label": "labels", "header": "http.headers",
		"max_attempts": "retry.max_attempts", "maxAttempts": "retry.max_attempts", "max-atempts": "retry.max_attempts", "attempts": "retry.max_attempts",
		"time_zone": "timezone", "timout": "timeout", "nam": "name", "nmae": "name", "qeueu": "queue", "uri": "http.url", "backoff": "retry.min_backoff", //nolint:misspell // typing errors are what it tests
		"": "", "a": "", "at": "", "colour": "", "id": "", "xyz": "", "destination": "", strings.Repeat("queue", 1<<18): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
}
