package crontab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const mailNote = `Foliot sends no mail to "ops@shop.example": pass --on-dead URL to call a URL when a task dies`

func TestMAILTOGetsAWarningThatNamesOnDead(t *testing.T) {
	for text, want := range map[string]string{
		"MAILTO=ops@shop.example": mailNote,
		"MAILTO=\"\"":             `"MAILTO" is ignored: it is meant for programs, and Foliot runs none`,
	} {
		if table := Parse(text, Config{}); len(table.Warnings) != 1 || table.Warnings[0].Text != want {
			t.Errorf("%s: warnings %v, want %q", text, table.Warnings, want)
		}
	}
}

func TestACrontabIsRead(t *testing.T) {
	table := Parse(strings.Join([]string{
		"\ufeff# the shop's jobs",
		"MAILTO=ops@shop.example",
		"",
		"CRON_TZ=Europe/Berlin",
		"# name: nightly",
		"0 21 * * MON-FRI\tcurl -fsS -X POST -H 'X-Shop: 7' -d '{\"full\": true}' https://shop.example/report",
		"@daily https://shop.example/clean?all=1&now=yes",
		"CRON_TZ = \"\"",
		"  */5 * * * *  /usr/bin/wget -q -O /dev/null --timeout=20 http://127.0.0.1:9/tick >/dev/null 2>&1\r",
		"@every 90s https://shop.example/clean",
	}, "\n"), Config{})
	want := Table{
		Entries: []Entry{
			{Line: 6, Name: "nightly", When: "0 21 * * MON-FRI", Zone: "Europe/Berlin", Request: request{
				Method: "POST", URL: "https://shop.example/report", Body: `{"full": true}`,
				Headers: map[string]string{"X-Shop": "7", "Content-Type": "application/x-www-form-urlencoded"},
			}},
			{Line: 7, Name: "shop.example-clean", When: "@daily", Zone: "Europe/Berlin", Request: request{URL: "https://shop.example/clean?all=1&now=yes"}},
			{Line: 9, Name: "127.0.0.1-9-tick", When: "*/5 * * * *", Request: request{
				Method: "GET", URL: "http://127.0.0.1:9/tick", Headers: map[string]string{}, Timeout: 20 * time.Second,
			}},
			{Line: 10, Name: "shop.example-clean-2", When: "@every 90s", Request: request{URL: "https://shop.example/clean"}},
		},
		Warnings: []Note{{2, mailNote}},
	}
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAZoneAppliesToTheLinesBelowIt(t *testing.T) {
	table := Parse(`
0 1 * * * http://a.example/1
TZ=America/New_York
0 2 * * * http://a.example/2
CRON_TZ=Asia/Tokyo
0 3 * * * http://a.example/3
0 4 * * * http://a.example/4
@every 1m http://a.example/5
CRON_TZ=
0 6 * * * http://a.example/6
TZ=UTC
0 7 * * * http://a.example/7
`, Config{})
	var zones []string
	for _, e := range table.Entries {
		zones = append(zones, e.Zone)
	}
	if got, want := fmt.Sprintf("%q", zones), `["" "" "Asia/Tokyo" "Asia/Tokyo" "" "" ""]`; got != want {
		t.Errorf("zones %s, want %s", got, want)
	}
	if len(table.Warnings) != 2 || table.Warnings[0].Line != 3 || table.Warnings[1].Line != 11 || len(table.Errors) != 0 {
		t.Errorf("warnings %v, errors %v", table.Warnings, table.Errors)
	}
}

func TestAURLWhosePathEndsLikeAProgramIsAURL(t *testing.T) {
	for _, url := range []string{"http://a.example/curl", "http://a.example/bin/wget", "http://curl"} {
		table := Parse("@daily "+url+"\n", Config{})
		if len(table.Errors) != 0 || len(table.Entries) != 1 || table.Entries[0].Request.URL != url {
			t.Errorf("%s is parsed as %+v", url, table)
		}
	}
}

func TestASystemCrontabHasUsers(t *testing.T) {
	const text = "0 1 * * * root curl http://a.example/\n@daily www-data http://a.example/\n@daily curl http://a.example/\n"
	table := Parse(text, Config{System: true})
	if len(table.Entries) != 2 || table.Entries[0].Request.Method != "GET" || table.Entries[1].Request.URL != "http://a.example/" {
		t.Errorf("%+v", table.Entries)
	}
	if len(table.Errors) != 1 || table.Errors[0].Line != 3 || !strings.Contains(table.Errors[0].Text, "omit --system") {
		t.Errorf("%v", table.Errors)
	}
	table = Parse(text, Config{})
	if len(table.Errors) != 2 || !strings.Contains(table.Errors[1].Text, "pass --system") {
		t.Errorf("%v", table.Errors)
	}
}

func TestNamesAreUniqueAndTheSameEachTime(t *testing.T) {
	const text = `
@daily http://a.example/x
@daily http://a.example/x
# name: a.example-x-2
@daily http://a.example/y
@daily http://a.example/x?q=1
@daily http://[::1]:80/ä/\%7Euser/
@daily http://_/
#name:own
@hourly http://a.example/
# name: own
@hourly http://a.example/
`
	table := Parse(text, Config{Prefix: "old-"})
	var names []string
	for _, e := range table.Entries {
		names = append(names, e.Name)
	}
	want := "old-a.example-x old-a.example-x-3 old-a.example-x-2 old-a.example-x-4 old-1-80-user old-schedule old-own"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names\n%s, want\n%s", got, want)
	}
	if len(table.Errors) != 1 || table.Errors[0] != (Note{12, `the name "old-own" is already used in line 10: choose another name`}) {
		t.Errorf("%v", table.Errors)
	}
	if diff := cmp.Diff(table, Parse(text, Config{Prefix: "old-"})); diff != "" {
		t.Error(diff)
	}
}

func TestAGeneratedNameIsShort(t *testing.T) {
	table := Parse("@daily http://a.example/"+strings.Repeat("long/", 100), Config{})
	if len(table.Entries) != 1 || len(table.Entries[0].Name) > longestMade+1 {
		t.Errorf("%v %v", table.Entries, table.Errors)
	}
}

// Notes appear on terminals and in logs. They may name a header or a variable, but
// not its value.
func TestNotesContainNoSecrets(t *testing.T) {
	for _, row := range []struct{ line, why string }{
		{"@daily https://a.example/ -H 'Authorization: Bearer s3cret'", `"-H" follows the URL`},
		{"@daily curl -H 'Authorization Bearer s3cret' https://a.example/", `"Authorization" is not a header`},
		{"@daily curl -H X-Key: s3cret https://a.example/", `"X-Key" is not a header`},
		{"@daily TOKEN=s3cret curl https://a.example/", `"TOKEN=…": foliot calls URLs and runs no programs`},
		{"@daily curl -u me:s3cret https://a.example/", `"-u" of curl cannot be taken`},
		{"@daily curl --user=me:s3cret https://a.example/", `"--user" of curl cannot be taken`},
		{"@daily curl -fsSume:s3cret https://a.example/", `"-u" of curl cannot be taken`},
	} {
		table := Parse(row.line, Config{})
		if len(table.Errors) != 1 || !strings.Contains(table.Errors[0].Text, row.why) || strings.Contains(table.Errors[0].Text, "s3cret") {
			t.Errorf("%s: %v, want %s", row.line, table.Errors, row.why)
		}
	}
}

// An invalid line gets an error with the reason. The other lines are parsed.
func TestInvalidLines(t *testing.T) {
	for _, row := range []struct{ line, why string }{
		{"0 21 * *", "five are minute"},
		{"0 25 * * * http://a.example/", "hour"},
		{"@reboot http://a.example/", "@reboot"},
		{"@every 10ms http://a.example/", "between"},
		{"0 21 * * *", "runs no programs"},
		{"@daily /usr/local/bin/backup.sh --full 50%", `"/usr/local/bin/backup.sh": foliot calls URLs and runs no programs`},
		{"@daily cd /srv && curl http://a.example/", `"cd"`},
		{"@daily http://a.example/ -d x", "follows the URL"},
		{"@daily http://a.example/%20", `write \%`},
		{"@daily curl -d @- http://a.example/%line", `write \%`},
		{"@daily curl -d", "-d needs a value"},
		{"@daily curl http://a.example/ http://b.example/", "exactly one URL, and has 2"},
		{"@daily curl a.example", "begin with http"},
		{"@daily A=b/curl http://a.example/", `"A=…": foliot calls URLs and runs no programs`},
		{"@daily root curl http://a.example/", "pass --system"},
		{"@daily curl -d @- http://a.example/ < /etc/hosts", `interpret "<"`},
		{"@daily curl 'http://a.example/", "a closing ' is missing"},
		{`@daily curl http://a.example/ \`, "interpret"},
		{"@daily curl http://a.example/'{1,2}'", "several URLs"},
		{"@daily curl 'http://a.example/a b'", `a space as \%20`},
		{"@daily curl http://a.example/\x00b", "not a valid URL"},
		{"@daily curl -d @file http://a.example/", "-d: \"@file\" is a file"},
		{"@daily curl --json @file http://a.example/", "--json: \"@file\" is a file"},
		{"@daily curl -H X-Shop http://a.example/", "is not a header"},
		{"@daily curl -H 'X: 1' -H 'x: 2' http://a.example/", "given twice"},
		{"@daily curl -I -d a http://a.example/", "HEAD has no body"},
		{"@daily curl -m soon http://a.example/", "not a number of seconds"},
		{"@daily curl -k https://a.example/", `"-k" of curl cannot be taken`},
		{"@daily curl --what http://a.example/", `"--what" of curl cannot be taken`},
		{"@daily curl --silent=1 http://a.example/", "takes no value"},
		{"@daily wget --post-file=x http://a.example/", `"--post-file" of wget cannot be taken`},
	} {
		if row.line == "0 21 * * *" {
			row.line += " "
		}
		table := Parse("@daily http://first.example/\n"+row.line+"\n@every 24h http://last.example/\n", Config{})
		if len(table.Errors) != 1 || table.Errors[0].Line != 2 || !strings.Contains(table.Errors[0].Text, row.why) {
			t.Errorf("%.80s: %v, want %q", row.line, table.Errors, row.why)
			continue
		}
		if n := len(table.Errors[0].Text); n > 500 {
			t.Errorf("%.80s: the error has %d bytes", row.line, n)
		}
		if len(table.Entries) != 2 {
			t.Errorf("%.80s: %d of the other lines are parsed", row.line, len(table.Entries))
		}
	}
}

// A line means what a shell makes of it. If that could be another request, it is
// refused, and the error names the remedy.
func TestALineThatNeedsAShellIsRefused(t *testing.T) {
	const special, wrapper = "write a URL, or a plain curl or wget", "omit the words before"
	for command, why := range map[string]string{
		"curl http://a.example/ | logger":          special,
		"curl http://a.example/ &":                 special,
		"curl http://a.example/; date":             special,
		"curl http://a.example/?a=1&b=2":           special,
		"curl http://a.example/{1,2}":              special,
		"curl $URL":                                special,
		"curl -H \"X: $(date)\" http://a.example/": special,
		"curl `cat url`":                           special,
		"curl http://a.example/ >'my log'":         special,
		"timeout 60 curl http://a.example/":        wrapper,
		"flock -n /tmp/x curl http://a.example/":   wrapper,
		"cd /srv && curl http://a.example/":        wrapper,
		"bash -c 'curl http://a.example/'":         "runs no programs",
		"timeout 60 /usr/local/bin/backup.sh":      "let an HTTP server of yours run it",
	} {
		if r, _, err := parseCommand(command); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %+v, %v, want %q", command, r, err, why)
		}
	}
}

// FuzzParse checks that each entry of any crontab is a valid schedule.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"0 21 * * * curl -fsSL -d 'a=1' -H \"X: \\\"y\\\"\" https://a.example/x >/dev/null 2>&1 # why",
		"CRON_TZ=Europe/Berlin\n# name: n\n@daily http://a.example/\\%20?q=1&b=2\r\n\ufeff",
		"@every 90s wget -nv -qO- --header='A: b' --post-data=x http://[::1]/\nTZ='UTC'\nMAILTO=\"\"",
		"# name: a\n@daily http://a.example/\n# name: a\n@daily http://b.example/\nwrong",
		"@daily timeout 60 curl http://a.example/ || true &",
		"* * * * * root wget -T 1e3 --method=PUT -O x http://a.example/{}",
		"0 0 1 1 0 curl http://curl",
	} {
		f.Add(seed, false)
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, text string, system bool) {
		table := Parse(text, Config{System: system, Prefix: "p-"})
		lines := strings.Count(text, "\n") + 1
		names := map[string]bool{}
		for _, e := range table.Entries {
			again := Parse(e.When+" "+strings.ReplaceAll(e.Request.URL, "%", `\%`), Config{})
			switch {
			case e.Line < 1 || e.Line > lines || names[e.Name] || !strings.HasPrefix(e.Name, "p-"):
				t.Errorf("%+v", e)
			case checkURL(e.Request.URL) != nil:
				t.Errorf("%q is not a URL", e.Request.URL)
			case !strings.ContainsAny(e.Request.URL, " \t\\") && (len(again.Entries) != 1 || again.Entries[0].When != e.When || again.Entries[0].Request.URL != e.Request.URL):
				t.Errorf("%+v is parsed again as %+v", e, again)
			}
			names[e.Name] = true
		}
		last := 0
		for _, n := range table.Errors {
			if n.Line < last || n.Line > lines || n.Text == "" {
				t.Errorf("%v", table.Errors)
			}
			last = n.Line
		}
	})
}

// The first word of the command would otherwise be read as the day of the week.
func TestALineWithTooFewFieldsNamesTheirNumber(t *testing.T) {
	for line, want := range map[string]string{
		"5 4 * * curl https://shop.example/":        "the line has only 4 fields of time before its command, and needs five",
		"5 4 https://shop.example/":                 "the line has only 2 fields of time before its command, and needs five",
		"5 4 * * curlew curl https://shop.example/": "day-of-week",
	} {
		if errs := Parse(line, Config{}).Errors; len(errs) != 1 || !strings.Contains(errs[0].Text, want) {
			t.Errorf("%s: %v, want %q", line, errs, want)
		}
	}
}
