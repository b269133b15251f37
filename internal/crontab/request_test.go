package crontab

import (
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
		want     Request
		warnings string // words of the warnings
	}{
		{"curl http://a.example/", Request{Method: "GET", URL: "http://a.example/", Headers: h{}}, ""},
		{"HTTPS://a.example/", Request{URL: "HTTPS://a.example/"}, ""},
		{`http://a.example/a\%20b`, Request{URL: "http://a.example/a%20b"}, ""},
		{`/opt/curl -so/dev/null 'http://a.example/\%7B1\%7D'`, Request{Method: "GET", URL: "http://a.example/%7B1%7D", Headers: h{}}, ""},
		{"curl -g http://a.example/{1}", Request{Method: "GET", URL: "http://a.example/{1}", Headers: h{}}, ""},
		{"curl http://[::1]:80/", Request{Method: "GET", URL: "http://[::1]:80/", Headers: h{}}, ""},
		{"curl -XPUT --url http://a.example/", Request{Method: "PUT", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -I http://a.example/", Request{Method: "HEAD", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -- http://a.example/", Request{Method: "GET", URL: "http://a.example/", Headers: h{}}, ""},
		{"curl -d a=1 --data-raw @b -X PATCH http://a.example/", Request{Method: "PATCH", URL: "http://a.example/", Body: "a=1&@b", Headers: h{"Content-Type": form}}, ""},
		{"curl -X POST -d '' http://a.example/", Request{Method: "POST", URL: "http://a.example/", Headers: h{"Content-Type": form}}, ""},
		{
			`curl --json '{"a":' --json '1}' http://a.example/`,
			Request{Method: "POST", URL: "http://a.example/", Body: `{"a":1}`, Headers: h{"Content-Type": "application/json", "Accept": "application/json"}},
			"",
		},
		{
			"curl -H 'content-type:text/csv' --data-binary a,b -A me -e http://r.example/ -b s=1 http://a.example/",
			Request{Method: "POST", URL: "http://a.example/", Body: "a,b", Headers: h{"content-type": "text/csv", "User-Agent": "me", "Referer": "http://r.example/", "Cookie": "s=1"}},
			"",
		},
		{
			"curl -fsSLo reply.html -m 2.5 --retry 3 --retry-delay 5 --connect-timeout 3 -w '' http://a.example/ >> log",
			Request{Method: "GET", URL: "http://a.example/", Headers: h{}, Timeout: 2500 * time.Millisecond},
			`"log" redirects reply.html`,
		},
		{"curl -m 0 http://a.example/", Request{Method: "GET", URL: "http://a.example/", Headers: h{}}, ""},
		{
			"wget -nv -qO- -t 1 -T 10 --header='X: y' --post-data=a=1 http://a.example/",
			Request{Method: "POST", URL: "http://a.example/", Body: "a=1", Headers: h{"X": "y", "Content-Type": form}, Timeout: 10 * time.Second},
			"",
		},
		{"wget --spider http://a.example/ -o wget.log", Request{Method: "HEAD", URL: "http://a.example/", Headers: h{}}, "wget.log"},
		{"wget --method=DELETE http://a.example/{1}", Request{Method: "DELETE", URL: "http://a.example/{1}", Headers: h{}}, ""},
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

// A wrapper sets properties of the call, or gets a warning that it is ignored.
func TestWrappersOfCurlSetPropertiesOfTheCall(t *testing.T) {
	for _, row := range []struct {
		command  string
		timeout  time.Duration
		alone    bool
		warnings string // words of the warnings
	}{
		{"timeout 60 curl http://a.example/", time.Minute, false, ""},
		{"/usr/bin/timeout 5m /usr/bin/curl http://a.example/", 5 * time.Minute, false, ""},
		{"timeout -k 5 60 curl http://a.example/", time.Minute, false, ""},
		{"timeout --foreground -sKILL --kill-after=5 1.5h curl http://a.example/", 90 * time.Minute, false, ""},
		{"timeout -- 2s curl http://a.example/", 2 * time.Second, false, ""},
		{"timeout 60 curl -m 5 http://a.example/", 5 * time.Second, false, ""},
		{"timeout 5 curl -m 60 http://a.example/", 5 * time.Second, false, ""},
		{"timeout 0 curl -m 60 http://a.example/", time.Minute, false, ""},
		{"timeout 0.0001 curl http://a.example/", time.Millisecond, false, ""},
		{"timeout 60 timeout 1d curl http://a.example/", time.Minute, false, ""},
		{"nice curl http://a.example/", 0, false, `nice`},
		{"nice -n 19 ionice -c3 curl http://a.example/", 0, false, `nice ionice`},
		{"nice -19 ionice -c 2 -n7 -t curl -m 3 http://a.example/ >/dev/null 2>&1", 3 * time.Second, false, `nice ionice`},
		{"nohup curl http://a.example/ >/dev/null &", 0, false, `"&"`},
		{"chronic curl http://a.example/", 0, false, ``},
		{"flock -n /tmp/x.lock curl http://a.example/", 0, true, `overlap`},
		{"flock -xn -E 0 /tmp/x.lock timeout 9 curl http://a.example/", 9 * time.Second, true, `overlap`},
		{"timeout 9 flock --nonblock '/tmp/x y' -c 'curl -o f http://a.example/ || true' > log", 9 * time.Second, true, `log overlap f true`},
		{"curl http://a.example/ || true", 0, false, `true`},
		{"curl http://a.example/||/bin/true # why", 0, false, `true`},
		{"curl http://a.example/ >/dev/null 2>&1 || : &", 0, false, `retries`},
		{"curl http://a.example/ >/dev/null 2>&1&", 0, false, `waits`},
		{"timeout 7 curl http://a.example/ || exit 0", 7 * time.Second, false, `exit`},
	} {
		got, warnings, err := parseCommand(row.command)
		if err != nil || got.URL != "http://a.example/" || got.Timeout != row.timeout || got.Alone != row.alone {
			t.Errorf("%s is parsed as %+v; %v", row.command, got, err)
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

// An option in two lists would be ambiguous.
func TestEachOptionIsInOneList(t *testing.T) {
	for program, lists := range map[string][][]option{
		"curl":  {curlRequest, curlIgnored, curlRefused},
		"wget":  {wgetRequest, wgetIgnored, wgetRefused},
		"flock": {flockOptions, flockIgnored, flockRefused},
	} {
		seen := map[string]bool{}
		for _, list := range lists {
			for _, o := range list {
				for name := range strings.FieldsSeq(o.names) {
					if seen[name] || name[0] != '-' {
						t.Errorf("%s: %s", program, name)
					}
					seen[name] = true
				}
			}
		}
	}
}
