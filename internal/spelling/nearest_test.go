package spelling

import (
	"slices"
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

func TestNearListsTheMostSimilarFirst(t *testing.T) {
	known := []string{"ls", "list", "listen", "get", "cancel", "completion", "secret", "version"}
	for word, want := range map[string][]string{
		"lis": {"list", "listen", "ls"}, "lst": {"ls", "list"}, "cancle": {"cancel"}, "comp": {"completion"},
		"frobnicate": nil, "": nil, "x": nil, strings.Repeat("ls", 1<<18): nil,
	} {
		if got := Near(word, known, 3); !slices.Equal(got, want) {
			t.Errorf("%.20q: got %q, want %q", word, got, want)
		}
	}
	if got := Near("lis", known, 1); !slices.Equal(got, []string{"list"}) {
		t.Errorf("at most one: got %q", got)
	}
}
