package crontab

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestALineBecomesItsRequest(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	type h = map[string]string
	for _, row := range []struct {
		command  string
		want     request
		warnings string // words of the warnings
	}{
		{"curl http://a.example/", request{Method: "GET", URL: "http://a.example/", Headers: h{}}, ""},
		{"HTTPS://a.example/", request{URL: "HTTPS://a.example/"}, ""},
		{`http://a.example/a\%20b`, request{URL: "http://a.example/a%20b"}, ""},
		{`/opt/curl -so/dev/null 'http://a.example/\%7B1\%7D'`, request{Method: "GET", URL: "http://a.example/%7B1%7D", Headers: h{}}, ""},
		{"curl http://a.example/~me/cron.php?key=x # why", request{Method: "GET", URL: "http://a.example/~me/cron.php?key=x", Headers: h{}}, ""},
		{"wget -q http://a.example/ &>/dev/null", request{Method: "GET", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -XPUT --url http://a.example/", request{Method: "PUT", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -I http://a.example/", request{Method: "HEAD", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -d a=1 --data-raw @b -X PATCH http://a.example/", request{Method: "PATCH", URL: "http://a.example/", Body: "a=1&@b", Headers: h{"Content-Type": form}}, ""},
		{"curl -X POST -d '' http://a.example/", request{Method: "POST", URL: "http://a.example/", Headers: h{"Content-Type": form}}, ""},
		{
			`curl --json '{"a":1}' http://a.example/`,
			request{Method: "POST", URL: "http://a.example/", Body: `{"a":1}`, Headers: h{"Content-Type": "application/json", "Accept": "application/json"}},
			"",
		},
		{
			"curl -H 'content-type:text/csv' --data-binary a,b -A me http://a.example/",
			request{Method: "POST", URL: "http://a.example/", Body: "a,b", Headers: h{"content-type": "text/csv", "User-Agent": "me"}},
			"",
		},
		{
			"curl -fsSLo reply.html -m 2.5 --retry 3 --retry-delay 5 --connect-timeout 3 -w '' http://a.example/ >> log",
			request{Method: "GET", URL: "http://a.example/", Headers: h{}, Timeout: 2500 * time.Millisecond},
			`"log" redirects reply.html`,
		},
		{
			"wget -nv -qO- -t 1 -T 10 --header='X: y' --post-data=a=1 http://a.example/",
			request{Method: "POST", URL: "http://a.example/", Body: "a=1", Headers: h{"X": "y", "Content-Type": form}, Timeout: 10 * time.Second},
			"",
		},
		{"wget --spider http://a.example/ -o wget.log", request{Method: "HEAD", URL: "http://a.example/", Headers: h{}}, "wget.log"},
	} {
		got, warnings, err := parseCommand(row.command)
		if err != nil {
			t.Errorf("%s: %v", row.command, err)
			continue
		}
		if diff := cmp.Diff(row.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.command, diff)
		}
		words := strings.Fields(row.warnings)
		if len(warnings) != len(words) {
			t.Errorf("%s: warnings %q", row.command, warnings)
		}
		for _, word := range words {
			if !strings.Contains(strings.Join(warnings, "\n"), word) {
				t.Errorf("%s: %q do not contain %s", row.command, warnings, word)
			}
		}
	}
}

// The test compares the words with those of a real shell.
func TestWordsAreSplitAsByAShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, line := range []string{
		`a b	c`,
		`'it''s' "a \"b\" \\ \x \$ c"  d\ e\'f`,
		`-d'{"a": "b\n"}' "it's" ''`,
		`a#b "#" \# # a comment ' with a quote`,
		`http://a.example/~me/[1]?q=1#frag x=y !x`,
		`a 2>/dev/null b >/dev/null 2>&1`,
		`""`,
	} {
		out, err := exec.CommandContext(t.Context(), sh, "-c", `p() { printf '<%s>\n' "$@" >&3; }; exec 3>&1; p `+line).Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		words, _, err := split(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		var got strings.Builder
		for _, w := range words {
			got.WriteString("<" + w + ">\n")
		}
		if diff := cmp.Diff(string(out), got.String()); diff != "" {
			t.Errorf("%s (-sh +split):\n%s", line, diff)
		}
	}
}

func TestRedirectedOutputIsIgnored(t *testing.T) {
	for line, want := range map[string]string{
		"curl u >/dev/null 2>&1":   "curl u [/dev/null ]",
		"curl u &>/dev/null":       "curl u [/dev/null]",
		"curl u >> a/b.log 2>> c":  "curl u [a/b.log c]",
		"curl >/dev/null u 1>&2 v": "curl u v [/dev/null ]",
		"curl u '>x' 3\\>y":        "curl u >x 3>y []",
	} {
		words, files, err := split(line)
		if got := fmt.Sprint(strings.Join(words, " "), " ", files); err != nil || got != want {
			t.Errorf("%s: %q, want %q; %v", line, got, want, err)
		}
	}
}
