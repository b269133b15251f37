package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	neturl "net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/store/memstore"
	"github.com/foliot/foliot/internal/wire"
)

// settingsFile has objects with a value in each field, in the form of an
// export.
const settingsFile = "testdata/settings.yaml"

// command runs a command line against a server.
type command func(args ...string) (stdout, stderr string, code int)

func (s *session) command(args ...string) (stdout, stderr string, code int) {
	return s.run("", args...)
}

// applied runs apply with a file of that content, and expects an exit code.
func (s *session) applied(code int, content string, more ...string) (stdout, stderr string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "settings.yaml")
	fatal.If(s.t, os.WriteFile(file, []byte(content), 0o600))
	out, errs, got := s.run("", append([]string{"apply", "-f", file}, more...)...)
	if got != code {
		s.t.Fatalf("apply %v ended with %d, want %d:\n%s%s", more, got, code, out, errs)
	}
	return out, strings.ReplaceAll(errs, file, "FILE")
}

// checkRoundTrip applies the golden file to an empty server. The export must be
// the same file, and applying either must change nothing.
func checkRoundTrip(t *testing.T, foliot command) {
	t.Helper()
	golden, err := os.ReadFile(settingsFile)
	fatal.If(t, err)
	wants(t, exit.OK)(foliot("apply", "-f", settingsFile))
	export := filepath.Join(t.TempDir(), "export.yaml")
	wants(t, exit.OK)(foliot("export", "--settings", export))
	exported, err := os.ReadFile(export)
	fatal.If(t, err)
	if d := cmp.Diff(string(golden), string(exported)); d != "" {
		t.Errorf("the export differs from %s (-want +got):\n%s", settingsFile, d)
	}
	for _, file := range []string{settingsFile, export} {
		if out, errs, code := foliot("apply", "-f", file, "--dry-run", "--prune"); code != exit.OK || out != "" {
			t.Errorf("after apply, %s makes a difference: %d\n%s%s", file, code, out, errs)
		}
	}
}

func TestAnExportOfSettingsChangesNothing(t *testing.T) {
	t.Run("memory", func(t *testing.T) { checkRoundTrip(t, newSession(t).command) })
	t.Run("embedded", func(t *testing.T) {
		p := serveHere(t, "--listen", anyPort, "--data", t.TempDir())
		checkRoundTrip(t, p.foliot)
	})
	t.Run("redis", func(t *testing.T) {
		p := redisNode(t, "redis://"+redistest.New(t).Addr)
		checkRoundTrip(t, p.foliot)
	})
}

// A field of the API that the file cannot hold would be lost by an export.
func TestTheExampleOfSettingsHasEveryField(t *testing.T) {
	golden, err := os.ReadFile(settingsFile)
	fatal.If(t, err)
	elsewhere := map[string]string{
		"managed_by": "set by --owner", "anchor": "for import only", "runs": "for import only", "body_base64": "in TestABodyOfAnyKindSurvivesAnExport",
	}
	for _, form := range []reflect.Type{
		reflect.TypeFor[wire.NamespaceInput](), reflect.TypeFor[wire.QueueInput](), reflect.TypeFor[wire.ScheduleInput](),
		reflect.TypeFor[wire.ScheduledTask](), reflect.TypeFor[wire.HTTPInput](), reflect.TypeFor[wire.WorkInput](), reflect.TypeFor[wire.Retry](),
	} {
		for _, f := range reflect.VisibleFields(form) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || elsewhere[name] != "" {
				continue
			}
			if !regexp.MustCompile(`(?m)^ *` + name + `:`).Match(golden) {
				t.Errorf("%s has no field %s of %s", settingsFile, name, form)
			}
		}
	}
}

func TestABodyOfAnyKindSurvivesAnExport(t *testing.T) {
	for name, body := range map[string]string{
		"bytes":                `"body_base64": "AP8="`,
		"a JSON text":          `"body": "x", "body_base64": "Ingi"`,
		"JSON in white space":  `"body": {"a": 1}, "body_base64": "IHsiYSI6IDF9IA=="`,
		"no":                   `"body": null`,
		"odd JSON":             `"body": {"a": [1e400, -0.0, "\ud83d\ude00\u2028", true], "1": {"y": "no", "~": "null"}}`,
		"a text like a number": `"body": "0x10"`,
		"a text with blanks":   `"body": "  a\n b \n\n"`,
		"a text like YAML":     `"body": "- a: &b *c # d"`,
	} {
		t.Run(name, func(t *testing.T) {
			m := newMoveTest(t)
			m.post("PUT", "/v1/schedules/s", "application/json", `{"every": "1h", "task": {"http": {"url": "http://127.0.0.1:9/", `+body+`}}}`)
			file := m.from.must("", "export --settings")
			wants(t, exit.OK)(m.from.run(file, "apply", "-f", "-", "--dry-run"))
			wants(t, exit.OK)(m.to.run(file, "apply", "-f", "-"))
			if got := m.to.must("", "export --settings"); got != file {
				t.Errorf("the export of the other server differs:\n%s\nwant\n%s", got, file)
			}
		})
	}
}

const mailQueue = "kind: queue\nname: mail\nrate: 20\n"

func TestApplyRepairsAChangeByHand(t *testing.T) {
	s := newSession(t)
	if out, _ := s.applied(exit.Differs, mailQueue, "--dry-run"); out != "+ queue mail\n" {
		t.Errorf("before: %q", out)
	}
	wants(t, exit.NotFound)(s.run("", "queue", "get", "mail"))
	s.applied(exit.OK, mailQueue)
	s.must("", "queue set mail --rate 10 --burst 5")
	const drift = "~ queue mail burst 5 -> (default)\n~ queue mail rate 10 -> 20\n"
	if out, _ := s.applied(exit.Differs, mailQueue, "--dry-run"); out != drift {
		t.Errorf("the dry run prints %q", out)
	}
	if out, _ := s.applied(exit.OK, mailQueue); out != drift {
		t.Errorf("apply prints %q", out)
	}
	if out, errs := s.applied(exit.OK, mailQueue); out != "" || errs != "created 0, changed 0, deleted 0, unchanged 1\n" {
		t.Errorf("the second time it prints %q, %q", out, errs)
	}
}

func TestAChangedDefaultOfAQueueReachesItsSchedules(t *testing.T) {
	s := newSession(t)
	const schedule = "---\nkind: schedule\nname: s\nevery: 1h\ntask: {queue: mail, http: {url: 'http://127.0.0.1:9/'}}\n"
	s.applied(exit.OK, mailQueue+schedule)
	out, _ := s.applied(exit.OK, mailQueue+"timeout: 40s\n"+schedule)
	if want := "~ queue mail timeout (default) -> 40s\n~ schedule s task.timeout 15s -> 40s\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	s.applied(exit.OK, mailQueue+"timeout: 40s\n"+schedule, "--dry-run")
	const other = "kind: queue\nname: other\n"
	s.applied(exit.OK, other+schedule, "--prune")
	if out, _ := s.applied(exit.OK, other+schedule, "--prune", "--dry-run"); out != "" {
		t.Errorf("after the queue of a schedule was deleted, a second run prints %q", out)
	}
}

// The namespace is suspended on the server and in the file.
func TestASuspendedNamespaceGetsSchedules(t *testing.T) {
	s := newSession(t)
	const namespace = "kind: namespace\nname: acme\nsuspended: true\n"
	const schedule = "---\nkind: schedule\nnamespace: acme\nname: NAME\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/'}}\n"
	first, second := strings.ReplaceAll(schedule, "NAME", "first"), strings.ReplaceAll(schedule, "NAME", "second")
	if out, _ := s.applied(exit.OK, namespace+first); out != "+ namespace acme\n+ schedule acme/first\n" {
		t.Errorf("it prints %q", out)
	}
	if out, _ := s.applied(exit.OK, namespace+first+second); out != "+ schedule acme/second\n" {
		t.Errorf("it prints %q", out)
	}
	shows(t, s.must("", "namespace ls"), "suspended")
}

// Exit code 2 says that nothing was changed.
func TestTheExitCodeTellsThatChangesWereMade(t *testing.T) {
	s := newSession(t)
	// The server allows shorter bodies than apply, which does not know the limit.
	long := "---\nkind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/', body: " + strings.Repeat("x", 300<<10) + "}}\n"
	if _, errs := s.applied(exit.Failure, mailQueue+long); !strings.Contains(errs, "created 1, ") {
		t.Errorf("%q", errs)
	}
	for name, body := range map[string]string{
		"must have at most 1048576 bytes":       strings.Repeat("x", 1<<20+1),
		"must be nested at most 32 levels deep": strings.Repeat("[", 33) + strings.Repeat("]", 33),
	} {
		if _, errs := s.applied(exit.Usage, "kind: queue\nname: new\n---\nkind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/', body: "+body+"}}\n"); !strings.Contains(errs, name) {
			t.Errorf("%q", errs)
		}
	}
	wants(t, exit.NotFound)(s.run("", "queue", "get", "new"))
}

// A client changes the object between the read and the write of apply.
func TestAChangeDuringApplyIsNotOverwritten(t *testing.T) {
	all := []string{"--prune", "--all-namespaces", "--yes"}
	for _, c := range []struct{ name, path, before, during, file, method string }{
		{"a new queue", "/v1/queues/mail", "", `{"rate": 7}`, mailQueue, "PUT"},
		{"a queue", "/v1/queues/mail", `{"rate": 1}`, `{"rate": 7}`, mailQueue, "PUT"},
		{"a namespace", "/v1/namespaces/acme", `{"max_pending": 1}`, `{"max_pending": 7}`, "kind: namespace\nname: acme\n", "PUT"},
		{
			"a schedule", "/v1/schedules/s", `{"every": "1h", "task": {"http": {"url": "http://127.0.0.1:9/"}}}`,
			`{"every": "7h", "task": {"http": {"url": "http://127.0.0.1:9/"}}}`, "kind: schedule\nname: s\nevery: 2h\ntask: {http: {url: 'http://127.0.0.1:9/'}}\n", "PUT",
		},
		{"a pruned namespace", "/v1/namespaces/old", `{"managed_by": "apply"}`, `{"max_pending": 7}`, "kind: queue\nname: new\n", "DELETE"},
		{"a pruned queue", "/v1/queues/old", `{"managed_by": "apply"}`, `{"rate": 7}`, "kind: queue\nname: new\n", "DELETE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := memstore.New(memstore.Config{})
			defer store.Close()
			inner := api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store)
			put := func(body string) {
				r := httptest.NewRequest("PUT", c.path, strings.NewReader(body))
				r.Host = "127.0.0.1"
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				if inner.ServeHTTP(w, r); w.Code >= 300 {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			}
			if c.before != "" {
				put(c.before)
			}
			raced := false
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == c.method && r.URL.Path == c.path && !raced {
					raced = true
					put(c.during)
				}
				inner.ServeHTTP(w, r)
			}))
			defer srv.Close()
			s := &session{t: t, server: srv.URL, dir: t.TempDir()}
			if _, errs := s.applied(exit.Conflict, c.file, all...); !strings.Contains(errs, "another client has changed it since apply read it") || !raced {
				t.Errorf("raced %v, stderr %q", raced, errs)
			}
			resp, err := http.Get(srv.URL + c.path)
			fatal.If(t, err)
			defer resp.Body.Close()
			if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), "7") {
				t.Errorf("the change of the other client is lost: %s", body)
			}
		})
	}
}

func TestATokenOfANamespaceAppliesAndExportsOnlyThatNamespace(t *testing.T) {
	s := newSession(t)
	s.must("", "namespace set acme")
	s.must("", "queue set elsewhere --rate 1")
	root := strings.TrimSpace(s.must("", "token create --for operator --scope admin"))
	t.Setenv("FOLIOT_TOKEN", root)
	own := strings.TrimSpace(s.must("", "token create --for acme --scope admin"))
	t.Setenv("FOLIOT_TOKEN", own)
	s.applied(exit.OK, mailQueue, "--prune")
	if got := s.must("", "export --settings"); got != mailQueue {
		t.Errorf("the export is\n%s", got)
	}
	if _, errs := s.applied(exit.Usage, "kind: namespace\nname: acme\n"); !strings.Contains(errs, "FILE:1: namespace acme: only an operator without --namespace can apply objects of kind namespace: remove this object from the files") {
		t.Errorf("stderr %q", errs)
	}
	if _, errs := s.applied(exit.Usage, "kind: queue\nnamespace: default\nname: q\n"); !strings.Contains(errs, "FILE:2: queue q: namespace: this run acts in the namespace acme only") {
		t.Errorf("stderr %q", errs)
	}
	t.Setenv("FOLIOT_TOKEN", root)
	t.Setenv("FOLIOT_NAMESPACE", "acme")
	s.applied(exit.OK, "kind: queue\nname: new\n", "--prune") // prunes acme/mail only
	t.Setenv("FOLIOT_NAMESPACE", "")
	if got := s.must("", "export --settings"); strings.Contains(got, "mail") || !strings.Contains(got, "namespace: acme\nname: new") || !strings.Contains(got, "name: elsewhere") {
		t.Errorf("the operator exports\n%s", got)
	}
}

func TestApplyPrintsObjectsAsJSONWithoutSecrets(t *testing.T) {
	s := newSession(t)
	const schedule = "kind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/?a=1&token=TOKEN', headers: {X-Api-Key: KEY, Credential: KEY, X-Passphrase: KEY, X-Shop: SHOP}, body: {p: KEY}}}\n"
	s.applied(exit.OK, strings.NewReplacer("TOKEN", "old-secret", "KEY", "old-secret", "SHOP", "seven").Replace(schedule))
	later := strings.NewReplacer("TOKEN", "new-secret", "KEY", "new-secret", "SHOP", "eight").Replace(schedule)
	text, _ := s.applied(exit.Differs, later, "--dry-run")
	out, _ := s.applied(exit.OK, later, "-o", "json")
	if strings.Contains(text+out, "-secret") {
		t.Errorf("a secret is printed:\n%s%s", text, out)
	}
	if want := "~ schedule s task.http.body [18 bytes] -> [18 other bytes]\n"; !strings.Contains(text, want) {
		t.Errorf("it prints %q, want %q", text, want)
	}
	var line struct {
		Action, Kind, Namespace, Name string
		Fields                        []struct {
			Field    string
			From, To any
		}
	}
	if err := json.Unmarshal([]byte(out), &line); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if line.Action != "change" || line.Kind != "schedule" || line.Namespace != "default" || line.Name != "s" || len(line.Fields) != 6 ||
		line.Fields[4].Field != "task.http.headers.x-shop" || line.Fields[4].From != "seven" || line.Fields[4].To != "eight" {
		t.Errorf("%s", out)
	}
}

func TestFilesOfADirectoryAreOneSetOfObjects(t *testing.T) {
	s, dir := newSession(t), t.TempDir()
	for name, content := range map[string]string{"b.yml": mailQueue, "a.yaml": "# nothing\n---\n---\nkind: queue\nname: a\n", "notes.txt": "kind: queue\nname: no\n"} {
		fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	if out, errs, code := s.run("", "apply", "-f", dir); code != exit.OK || out != "+ queue a\n+ queue mail\n" {
		t.Errorf("%d %s%s", code, out, errs)
	}
	wants(t, exit.Usage, "standard input:1: queue mail is already described at "+filepath.Join(dir, "b.yml")+":1")(s.run("kind: queue\nname: mail\n", "apply", "-f", dir, "-f", "-"))
	wants(t, exit.Usage, "has no file *.yaml or *.yml")(s.run("", "apply", "-f", t.TempDir(), "--prune"))
	if _, errs := s.applied(exit.Usage, "# nothing\n", "--prune"); !strings.Contains(errs, "FILE has no objects") {
		t.Errorf("%s", errs)
	}
	// An emptied file, and a file that was moved, must not count as deletions.
	servertest.WriteFile(t, filepath.Join(dir, "c.yaml"), nil)
	wants(t, exit.Usage, "c.yaml has no objects")(s.run("", "apply", "-f", dir, "--prune"))
	below := filepath.Join(dir, "team", "a")
	fatal.If(t, errors.Join(os.Remove(filepath.Join(dir, "c.yaml")), os.MkdirAll(below, 0o700), os.Rename(filepath.Join(dir, "b.yml"), filepath.Join(below, "b.yml"))))
	wants(t, exit.Usage, "b.yml is in a subdirectory, which is not read: pass "+below)(s.run("", "apply", "-f", dir, "--prune"))
	wants(t, exit.OK)(s.run("", "apply", "-f", dir, "-f", below, "--prune", "--dry-run"))
	elsewhere := filepath.Join(t.TempDir(), "team")
	fatal.If(t, os.Rename(filepath.Join(dir, "team"), elsewhere))
	fatal.If(t, os.Symlink(elsewhere, filepath.Join(dir, "team")))
	wants(t, exit.Usage, "is in a subdirectory")(s.run("", "apply", "-f", dir, "--prune"))
}

// A user begins with the example of the page.
func TestTheExampleOfThePageAboutApplyWorks(t *testing.T) {
	page, err := os.ReadFile("../../docs/apply.md")
	fatal.If(t, err)
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("the page has no example")
	}
	s := newSession(t)
	if out, _ := s.applied(exit.OK, string(example[1])); out != "+ namespace acme\n+ queue acme/mail\n+ schedule acme/nightly\n" {
		t.Errorf("it prints %q", out)
	}
	s.applied(exit.OK, string(example[1]), "--dry-run", "--prune")
}

func TestAnObjectInAMissingNamespaceIsRefusedBeforeAnyChange(t *testing.T) {
	s := newSession(t)
	_, errs := s.applied(exit.Usage, mailQueue+"---\nkind: queue\nname: q\nnamespace: acme\n")
	shows(t, errs, "FILE:7: queue acme/q: namespace: there is no namespace acme: add it to the files, or create it with `foliot namespace set acme`")
	wants(t, exit.NotFound)(s.run("", "queue", "get", "mail"))
}

// Without the bodies, an export would lose them, and apply would find
// differences that do not exist.
func TestATokenThatSeesNoBodiesCannotCompareSchedules(t *testing.T) {
	s := newSession(t)
	const schedule = "kind: schedule\nname: s\nevery: 1h\ntask: {http: {url: 'http://127.0.0.1:9/', body: x}}\n"
	s.applied(exit.OK, schedule)
	s.must("", "namespace set default --hide-payloads")
	admin := strings.TrimSpace(s.must("", "token create --for operator --scope admin"))
	t.Setenv("FOLIOT_TOKEN", admin)
	reader := strings.TrimSpace(s.must("", "token create --for default --scope read"))
	t.Setenv("FOLIOT_TOKEN", reader)
	if _, errs := s.applied(exit.Failure, schedule, "--dry-run"); !strings.Contains(errs, "use a token of scope write") {
		t.Errorf("stderr %q", errs)
	}
	if out, errs, code := s.run("", "export", "--settings"); code == exit.OK || strings.Contains(out, "schedule") {
		t.Errorf("the export ended with %d: %s%s", code, out, errs)
	}
}

// A load balancer sends each request to another server. A server knows a new
// namespace only when it reads the settings again.
func TestApplyCreatesANamespaceWithQueuesBehindALoadBalancer(t *testing.T) {
	url := "redis://" + redistest.New(t).Addr
	var nodes []*httputil.ReverseProxy
	for range 2 {
		node, err := neturl.Parse(redisNode(t, url).url)
		fatal.If(t, err)
		nodes = append(nodes, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(node)
			if r.Out.Body != nil { // otherwise the proxy cuts off a reply that begins early: golang/go#40747
				body, _ := io.ReadAll(r.In.Body)
				r.Out.Body = io.NopCloser(bytes.NewReader(body))
			}
		}})
	}
	var requests atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		nodes[requests.Add(1)%2].ServeHTTP(w, r)
	}))
	defer srv.Close()
	s := &session{t: t, server: srv.URL, dir: t.TempDir()}
	for _, name := range []string{"a", "b", "c"} {
		want := "+ namespace " + name + "\n+ queue " + name + "/q\n+ queue " + name + "/r\n"
		if out, _ := s.applied(exit.OK, strings.ReplaceAll("kind: namespace\nname: NAME\n---\nkind: queue\nnamespace: NAME\nname: q\n---\nkind: queue\nnamespace: NAME\nname: r\n", "NAME", name)); out != want {
			t.Errorf("it prints %q", out)
		}
	}
}
