package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/usage"
)

// read reads one file with that content, and returns its errors, one on each
// line, without the directory.
func read(t *testing.T, content string) ([]Object, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "f.yaml")
	fatal.If(t, os.WriteFile(file, []byte(content), 0o600))
	objects, err := Read([]string{file}, nil, "default")
	if err == nil {
		return objects, ""
	}
	for _, part := range usage.Parts(err) {
		if invalid := new(usage.Error); !errors.As(part, &invalid) {
			t.Errorf("%v is no usage error", part)
		}
	}
	return objects, strings.ReplaceAll(err.Error(), file, "f.yaml")
}

const plainTask = "task: {http: {url: 'http://127.0.0.1:9/'}}\n"

func TestAnErrorNamesTheFileTheLineAndTheField(t *testing.T) {
	for _, c := range []struct{ content, want string }{
		{"kind: queue\nname: q\nratee: 1\n", "f.yaml:3: queue q: ratee: unknown field; did you mean rate?"},
		{"kind: queue\nname: q\nretry:\n  max: 1\n", "f.yaml:4: queue q: retry.max: unknown field"},
		{"kind: schedule\nname: s\ntask:\n  url: x\n", "f.yaml:4: schedule s: task.url: this field belongs to http"},
		{"kind: queue\nname: q\nmanaged_by: x\n", "f.yaml:3: managed_by: foliot apply sets the owner: pass --owner"},
		{"kind: schedule\nname: s\nevery: 1h\nruns: 3\n" + plainTask, "f.yaml:4: runs: this field only moves a schedule"},
		{"kind: queue\nname: q\nrate: fast\n", "f.yaml:3: queue q: rate: must be a number, not a string"},
		{"kind: queue\nname: q\nrate: 0\n", "f.yaml:3: queue q: rate: 0 is not a limit"},
		{"kind: queue\nname: q\nrate:\n", "f.yaml:3: rate: the value is missing: delete the line to use the default"},
		{"kind: queue\nname: q\nconcurrency: 1.5\n", "f.yaml:3: queue q: concurrency: must be a whole number"},
		{"kind: queue\nname: q\nconcurrency: 1000001\n", "f.yaml:3: queue q: concurrency: must be between 0 (no limit) and 1000000"},
		{"kind: queue\nname: q\nkeep_bodies: 'true'\n", "f.yaml:3: queue q: keep_bodies: must be true or false, not a string"},
		{"kind: queue\nname: q\ntimeout: 15\n", `f.yaml:3: queue q: timeout: must be a string such as "30s", not a number`},
		{"kind: queue\nname: q\ntimeout: 3 parsecs\n", "f.yaml:3: queue q: timeout: invalid duration"},
		{"kind: queue\nname: q\nretry: 3\n", "f.yaml:3: queue q: retry: must be an object, not a number"},
		{"kind: queue\nname: q\nrate: 1\nrate: 2\n", "f.yaml:4: rate is already set in line 3"},
		{"kind: queue\nname: q\nburst: 4\n", "f.yaml:3: queue q: burst: a burst needs a rate"},
		{"kind: queue\nname: q\n---\nkind: queue\nname: q\n", "f.yaml:4: queue q is already described at f.yaml:1: keep one of them"},
		{"kind: queues\nname: q\n", `f.yaml:1: kind: "queues" is not one of namespace, queue, schedule`},
		{"name: q\n", "f.yaml:1: kind: missing: an object needs a kind, which is namespace, queue or schedule"},
		{"kind: queue\n", "f.yaml:1: name: missing: an object needs a name"},
		{"kind: queue\nname: a b\n", "f.yaml:2: name: must consist of letters, digits and . _ : - and begin with a letter or digit"},
		{"kind: queue\nname: q\nnamespace: a/b\n", "f.yaml:3: namespace: must consist of"},
		{"kind: namespace\nname: a\nnamespace: b\n", "f.yaml:3: namespace: a namespace is in no other namespace: delete the line"},
		{"kind: namespace\nname: operator\n", `f.yaml:1: namespace operator: namespace: "operator" means the operator`},
		{"- kind: queue\n", "f.yaml:1: a document must be an object with the fields kind and name"},
		{"kind: queue\nname: q\n  rate: 1\n", "f.yaml:3: mapping values are not allowed"},
		{"kind: schedule\nname: s\nevery: 1h\n", "f.yaml:1: schedule s: task: missing: a schedule needs the template of its tasks"},
		{"kind: schedule\nname: s\n" + plainTask, "f.yaml:1: schedule s: cron: missing: a schedule needs cron"},
		{"kind: schedule\nname: s\ncron: '99 * * * *'\n" + plainTask, "f.yaml:3: schedule s: cron: "},
		{"kind: schedule\nname: s\ncron: '@daily'\ntimezone: Europe/Berln\n" + plainTask, "f.yaml:4: schedule s: timezone: "},
		{"kind: schedule\nname: s\ncron: '@daily'\nevery: 1h\n" + plainTask, "f.yaml:4: schedule s: every: cannot be combined with cron"},
		{"kind: schedule\nname: s\nevery: 1h\ndst_gap: skip\n" + plainTask, "f.yaml:3: schedule s: every: cannot be combined with dst_gap"},
		{"kind: schedule\nname: s\nevery: 1h\nmissed: all\n" + plainTask, "f.yaml:4: schedule s: missed: must be one of fire_once, skip, fire_all"},
		{"kind: schedule\nname: s\nevery: 1h\nstart: 2030-01-02\n" + plainTask, "f.yaml:4: schedule s: start: invalid time: use RFC 3339"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: ftp://a/\n", "f.yaml:6: schedule s: task.http.url: "},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://a/\n    headers:\n      X: 7\n", "f.yaml:8: schedule s: task.http.headers.X: must be a string, not a number: put the value in quotes"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://a/\n    headers:\n      X: *hunter2\n", "f.yaml: a value that begins with * must be in quotes"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://a/\n    body:\n      a: !!float .inf\n", "f.yaml:8: task.http.body.a: parsers of YAML read this value in different ways"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://a/\n    body:\n      a: !hunter2\n", "f.yaml:8: task.http.body.a: a value that begins with ! must be in quotes"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  http: &h\n    url: http://a/\n  work: *h\n", "f.yaml:7: aliases such as *h are not supported"},
		{"kind: schedule\nname: s\nevery: 1h\ntask:\n  <<: {}\n", "f.yaml:5: merge keys (<<) are not supported"},
	} {
		_, got := read(t, c.content)
		if !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%q\ngives the error\n%s\nwant\n%s", c.content, got, c.want)
		}
	}
}

// Git has such directories, and so has a ConfigMap of Kubernetes as a volume.
func TestFilesOfHiddenDirectoriesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	for _, hidden := range []string{".github", "..2026_11_28", filepath.Join("visible", ".hidden")} {
		fatal.If(t, os.MkdirAll(filepath.Join(dir, hidden), 0o700))
		fatal.If(t, os.WriteFile(filepath.Join(dir, hidden, "a.yaml"), []byte("kind: queue\nname: q\n"), 0o600))
	}
	fatal.If(t, os.Symlink("..2026_11_28", filepath.Join(dir, "..data")))
	fatal.If(t, os.Symlink(filepath.Join("..data", "a.yaml"), filepath.Join(dir, "a.yaml")))
	if objects, err := Read([]string{dir}, nil, "default"); err != nil || len(objects) != 1 {
		t.Errorf("%v, %v", objects, err)
	}
}

func TestTheFirstErrorOfEachObjectIsReportedAtOnce(t *testing.T) {
	_, got := read(t, "kind: queue\nname: p\nrate: fast\nburst: x\n---\nkind: queue\nname: q\ntimeout: 1\n")
	want := "f.yaml:3: queue p: rate: must be a number, not a string\nf.yaml:8: queue q: timeout: must be a string such as \"30s\", not a number"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestObjectsAreInTheOrderOfTheirCreation(t *testing.T) {
	objects, errs := read(t, "kind: schedule\nname: a\nevery: 1h\n"+plainTask+"---\nkind: queue\nname: b\n---\nkind: namespace\nname: z\n---\nkind: queue\nnamespace: z\nname: a\n")
	var got []string
	for _, o := range objects {
		got = append(got, o.String())
	}
	if list := strings.Join(got, ", "); list != "namespace z, queue b, queue z/a, schedule a" || errs != "" {
		t.Errorf("%s %s", list, errs)
	}
}

// Two ways to write the same value must not differ, or apply would change an
// object forever.
func TestEqualSettingsHaveNoDifference(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"kind: queue\nname: q\n", "kind: queue\nname: q\nexpire_after: 0s\nkeep_bodies: false\n"},
		{"kind: queue\nname: q\ntimeout: 90s\n", "kind: queue\nname: q\ntimeout: 1m30s\n"},
		{"kind: queue\nname: q\nrate: 10\n", "kind: queue\nname: q\nrate: 10.0\n"},
		{
			"kind: schedule\nname: s\ncron: '@every 1h'\n" + plainTask,
			"kind: schedule\nname: s\nevery: 60m\npaused: false\nmissed: fire_once\ncatchup_window: 24h\ncatchup_limit: 100\noverlap: allow\ntask: {queue: default, priority: normal, timeout: 15s, expire_after: 0s, on_dead: '', http: {method: POST, url: 'http://127.0.0.1:9/'}, retry: {max_attempts: 0, min_backoff: 1s, max_backoff: 1h, max_age: 24h}}\n",
		},
		{
			"kind: schedule\nname: s\ncron: '@daily'\nstart: 2030-01-01T00:00:00Z\n" + plainTask,
			"kind: schedule\nname: s\ncron: '@daily'\nstart: 2030-01-01T02:00:00+02:00\ntimezone: UTC\ndst_gap: next\ndst_overlap: first\n" + plainTask,
		},
		{
			"kind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://a/', headers: {X-A: b}, body: {a: 1, b: [2]}}}\n",
			"kind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://a/', headers: {x-a: b}, body: {b: [2], a: 1}}}\n",
		},
	} {
		a, errs := read(t, c.a)
		b, more := read(t, c.b)
		if errs+more != "" {
			t.Fatal(errs, more)
		}
		none := client.QueueSettings{}
		if d, err := Diff(a[0].Complete(none), b[0].Complete(none)); err != nil || len(d) > 0 {
			t.Errorf("%s\nand\n%s\ndiffer in %s: %v", c.a, c.b, d, err)
		}
	}
}

// YAML 1.1, YAML 1.2, JSON and the parsers of each differ about these values. So
// one of them would change silently.
func TestAValueThatParsersReadDifferentlyIsRefusedUnlessItIsQuoted(t *testing.T) {
	for _, value := range []string{
		"010", "01234", "0o17", "0b11", "0x1F", "-0x10", "1_000", "1:30", "190:20:30", "1e3", "1e400", "1.5e3", "1.0e+5", ".5", "1.", "0_1",
		"yes", "No", "ON", "off", "y", "N", ".inf", "-.INF", ".nan", "2030-01-02", "2030-01-02T15:04:05Z", "2001-1-1 1:1:1",
	} {
		const schedule = "kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://127.0.0.1:9/\n    body:\n      a: "
		if _, errs := read(t, schedule+value+"\n"); !strings.Contains(errs, "f.yaml:8: task.http.body.a: parsers of YAML read this value in different ways: quote it") {
			t.Errorf("body: %s: %s", value, errs)
		}
		label := strings.Replace(schedule, "  http:", "  labels:\n    a: "+value+"\n  http:", 1)
		if _, errs := read(t, label+"1\n"); !strings.Contains(errs, "f.yaml:6: task.labels.a: parsers of YAML") || strings.Contains(errs, value+" ") {
			t.Errorf("label: %s: %s", value, errs)
		}
		if objects, errs := read(t, schedule+"'"+value+"'\n"); errs != "" || string(objects[0].ScheduleSpec.Task.HTTP.Body.Bytes()) != `{"a":"`+value+`"}` {
			t.Errorf("quoted %s: %s", value, errs)
		}
		if _, errs := read(t, "kind: queue\nname: q\nconcurrency: "+value+"\n"); !strings.HasPrefix(errs, "f.yaml:3: concurrency: ") {
			t.Errorf("concurrency: %s: %s", value, errs)
		}
		if _, errs := read(t, strings.Replace(schedule, "      a: ", "      "+value+": 1\n", 1)); !strings.Contains(errs, "f.yaml:8: task.http.body."+value+": parsers of YAML") {
			t.Errorf("the name %s: %s", value, errs)
		}
	}
	if _, errs := read(t, "kind: queue\nname: q\nconcurrency: !!int '010'\n"); !strings.HasPrefix(errs, "f.yaml:3: concurrency: parsers") {
		t.Error(errs)
	}
	for _, value := range []string{"10", "-7", "0", "0.5", "10.25", "true", "null", "~", "text", "1.2.3.4", "127.0.0.1:80", "1h30m", "30s", "e5", "no-reply", "0800-CALL"} {
		if _, errs := read(t, "kind: schedule\nname: s\nevery: 1h\ntask:\n  http:\n    url: http://127.0.0.1:9/\n    body:\n      a: "+value+"\n"); errs != "" {
			t.Errorf("%s: %s", value, errs)
		}
	}
}

// A number beyond 2^53 has no exact form as a float64.
func TestIntegersOfABodyKeepAllDigits(t *testing.T) {
	for in, want := range map[string]string{
		"1000000000000000001": "1000000000000000001", "+7": "7", "-10.5": "-10.5", "!!float 1e400": "1e400",
		"9007199254740993": "9007199254740993", "123456789012345678901234567890": "123456789012345678901234567890",
	} {
		objects, errs := read(t, "kind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/', body: ["+in+"]}}\n")
		if errs != "" || string(objects[0].ScheduleSpec.Task.HTTP.Body.Bytes()) != "["+want+"]" {
			t.Errorf("%s: %v %s", in, objects, errs)
		}
	}
}
