package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/task"
)

// An invalid command line ends with exit code 2 and one line that names the
// mistake. Nothing is stored.
func TestBadInputIsOneLineThatNamesTheFlag(t *testing.T) {
	s := newSession(t)
	long := filepath.Join(s.dir, "long")
	if err := os.WriteFile(long, make([]byte, task.MaxBody+1), 0o600); err != nil {
		t.Fatal(err)
	}
	add := "add http://127.0.0.1:9/ "
	for _, c := range []struct{ line, names string }{
		{"frobnicate", "unknown command frobnicate;"},
		{"--frobnicate ls", "--frobnicate"},
		{"-o yaml ls", "--output"},
		{"lst", `unknown command lst, did you mean one of "get", "ls"?`},
		{"pause mail", "unknown command pause;"},
		{"ls --quue mail", `unknown flag --quue, did you mean "--queue"?`},
		{"--queue mail ls", "unknown flag --queue"},
		{"create", "--in"},
		{"cron add a http://127.0.0.1:9/ '0 21 * * *'", "CRON: this is a URL: write the expression"},
		{"backup " + filepath.Join(s.dir, "none", "file"), "backup to " + filepath.Join(s.dir, "none", "file") + ": the directory " + filepath.Join(s.dir, "none") + " does not exist"},
		{"export " + filepath.Join(s.dir, "none", "file"), "the directory " + filepath.Join(s.dir, "none") + " does not exist"},
		{"--server nowhere ls", "--server"},
		{"version --server http://127.0.0.1:9", "--server: this command calls no server"},
		{"doctor data none --namespace shop", "--namespace: this command calls no server"},

		{"add --in 1s", "URL"},
		{"add --in 1s --args {}", "--args"},
		{"add --in 1s --kind close-order --args {", "--args"},
		{"add --in 1s --kind close-order --json {}", "--kind"},
		{"add --in 1s --kind a/b", "--kind"},
		{"cron add a @daily http://127.0.0.1:9/ --kind report", "URL, --kind"},
		{"cron add a --kind report", "CRON"},
		{"cron add a", "URL"},
		{"add 127.0.0.1:9/hook --in 1s", "URL"},
		{add, "--in, --at"},
		{add + "--in 1s --at 2030-01-01T00:00:00Z", "--in, --at"},
		{add + "--in 1d", "--in"},
		{add + "--at tomorrow", "--at"},
		{add + "--in 1s --name 'no spaces'", "--name"},
		{add + "--in 1s --queue a/b", "--queue"},
		{add + "--in 1s --priority urgent", "--priority"},
		{add + "--in 1s --label tenant", "--label"},
		{add + "--in 1s --label a=1 --label a=2", "--label"},
		{add + "--in 1s -X BREW", "--method"},
		{add + "--in 1s -H X-Shop", "--header"},
		{add + "--in 1s -H 'X-Shop: 1' -H 'X-Shop: 2'", "--header"},
		{add + "--in 1s --json {", "--json"},
		{add + "--in 1s --json {} -d text", "--json"},
		{add + "--in 1s -d @" + filepath.Join(s.dir, "nofile"), "--data"},
		{add + "--in 1s -d @" + long, "--data"},
		{add + "--in 1s --timeout 0.5", "--timeout"},
		{add + "--in 1s --expire-after soon", "--expire-after"},
		{add + "--in 1s --max-attempts many", "--max-attempts"},
		{add + "--in 1s --min-backoff 1", "--min-backoff"},
		{add + "--in 1s --min-backoff 2h --max-backoff 1h", "--max-backoff"},
		{add + "--in 1s --max-age x", "--max-age"},

		{"get", "<name>"},
		{"get a b", "b"},
		{"get a/b", "NAME"},
		{"cancel", "NAME"},
		{"cancel a --queue mail", "NAME"},
		{"cancel --all --queue mail", "--all"},
		{"cancel a /", "NAME"},
		{"retry", "NAME"},
		{"touch", "<name>"},
		{"run", "<name>"},
		{"move a", "--in, --at"},
		{"move a --in x", "--in"},
		{"ls --limit -1", "--limit"},
		{"ls --state finished", "--state"},
		{"ls --label x", "--label"},
		{"ls --queue a/b", "--queue"},
		{"ls --due-before noon", "--due-before"},

		{"cron add", "<name>"},
		{"cron add a/b @daily http://127.0.0.1:9/", "NAME"},
		{"cron add " + strings.Repeat("a", task.MaxScheduleName+1) + " @daily http://127.0.0.1:9/", "NAME"},
		{"cron add a http://127.0.0.1:9/", "CRON"},
		{"cron add a '0 21 * *'", "URL"},
		{"cron add a 0 21 x x x http://127.0.0.1:9/", "in quotes"},
		{"cron add a '0 25 * * *' http://127.0.0.1:9/", "CRON"},
		{"cron add a @daily 127.0.0.1:9/", "URL"},
		{"cron add a @daily http://127.0.0.1:9/ --every 5s", "CRON, --every"},
		{"cron add a http://127.0.0.1:9/ --every 1d", "--every"},
		{"cron add a http://127.0.0.1:9/ --every 5s --timezone UTC", "--timezone"},
		{"cron add a @daily http://127.0.0.1:9/ --timezone Local", "--timezone"},
		{"cron add a @daily http://127.0.0.1:9/ --dst-gap both", "--dst-gap"},
		{"cron add a @daily http://127.0.0.1:9/ --dst-overlap next", "--dst-overlap"},
		{"cron add a @daily http://127.0.0.1:9/ --start noon", "--start"},
		{"cron add a @daily http://127.0.0.1:9/ --end -1h", "--end"},
		{"cron add a @daily http://127.0.0.1:9/ --max-runs=-1", "--max-runs"},
		{"cron add a @daily http://127.0.0.1:9/ --jitter 25h", "--jitter"},
		{"cron add a @daily http://127.0.0.1:9/ --misfire some", "--misfire"},
		{"cron add a @daily http://127.0.0.1:9/ --catchup-window some", "--catchup-window"},
		{"cron add a @daily http://127.0.0.1:9/ --catchup-limit 10001", "--catchup-limit"},
		{"cron add a @daily http://127.0.0.1:9/ --overlap never", "--overlap"},
		{"cron set", "<name>"},
		{"cron set a/b --timeout 1s", "NAME"},
		{"cron set a", "no field to change"},
		{"add http://127.0.0.1:9/ --in 1s --replace", "--replace"},
		{"cron get a@1", "NAME"},
		{"cron pause", "<name>"},
		{"cron ls --label x", "--label"},
		{"cron backfill a", "--from"},
		{"cron backfill a --from noon", "--from"},
		{"cron backfill a --from -1h --until -2h", "--until"},
		{"cron preview a/b", "NAME"},
		{"cron preview a --timezone UTC", "--timezone"},
		{"cron preview a -n 0", "--limit"},
		{"cron preview a --from noon", "--from"},
		{"cron preview '0 21 * *'", "NAME-OR-CRON"},
		{"cron preview '* * * * *' --dst-gap both", "--dst-gap"},
		{"cron preview '@every 5s' --timezone UTC", "--timezone"},
		{"cron import", "<file>"},
		{"cron import " + filepath.Join(s.dir, "nofile"), filepath.Join(s.dir, "nofile") + ": no such file"},
		{"cron import - --prefix -a", "--prefix"},
		{"cron import - --timezone Berlin", "--timezone"},
		{"cron import - --timeout soon", "--timeout"},
		{"cron import - --overlap never", "--overlap"},
		{"cron import - --on-dead nowhere", "--on-dead"},
		{"import", "<file>"},
		{"import " + filepath.Join(s.dir, "nofile"), filepath.Join(s.dir, "nofile") + ": no such file"},
		{"import " + s.dir, s.dir + " is a directory"},
		{"import - --batch 0", "--batch"},
		{"import - --parallel 0", "--parallel"},
		{"export --state gone", "--state"},

		{"listen nowhere", "ADDR"},
		{"listen 127.0.0.1:70000", "ADDR"},
		{"listen --status 99", "--status"},
		{"listen --count=-1", "--count"},

		{"serve --listen nowhere", "--listen"},
		{"serve --listen 127.0.0.1:port", "--listen"},
		{"serve --listen 0.0.0.0:8750", "--listen"},
		{"serve --store redis://127.0.0.1:x", "--store"},
		{"serve --store redis://127.0.0.1 --node a/b", "--node"},
		{"serve --store redis://127.0.0.1 --shards=-1", "--shards"},
		{"serve --store redis://127.0.0.1 --shard-lease 100ms", "--shard-lease"},
		{"serve --store redis://127.0.0.1 --durability some", "--durability"},
		{"serve --store redis://127.0.0.1 --redis-replicas 2", "--redis-replicas"},
		{"serve --node a", "--node"},
		{"serve --shards 16", "--shards"},
		{"serve --shard-lease 1s", "--shard-lease"},
		{"serve --durability strict", "--durability"},
		{"serve --store memory: --redis-replicas 0", "--redis-replicas"},
		{"serve --redis-unsafe", "--redis-unsafe"},
		{"serve --lease 10ms", "--lease"},
		{"serve --data ''", "--data"},
		{"serve --egress-allow 10.0.0.0/33", "--egress-allow"},
		{"serve --grace x", "--grace"},
		{"serve --host https://foliot.example", "--host"},
		{"serve --body-limit 0", "--body-limit"},
		{"serve --concurrency=-1", "--concurrency"},
		{"serve --log-level loud", "--log-level"},
		{"serve --tls-cert x", "--tls-cert"},
		{"serve --tls-key x", "--tls-key"},
		{"serve --tls-client-ca x", "--tls-client-ca"},
		{"serve --tls-cert nofile --tls-key nofile", "--tls-cert"},
		{"serve --trusted-proxy proxy", "--trusted-proxy"},
		{"serve --egress-deny private", "--egress-deny"},
		{"serve --keep-finished 0s", "--keep-finished"},
		{"serve --keep-dead=-1h", "--keep-dead"},
		{"serve --audit-keep 30d", "--audit-keep"},
		{"serve --breaker-failures=-1", "--breaker-failures"},
		{"serve --otlp-endpoint collector:4318", "--otlp-endpoint"},
		{"serve --trace-sample 2", "--trace-sample"},
		{"serve --config nofile", "--config"},
		{"config --grace=-1s", "--grace"},
		{"completion tcsh", "<shell>"},
		{"serve --log-format xml", "--log-format"},
	} {
		t.Run(c.line, func(t *testing.T) {
			stdout, stderr, code := s.run("", s.words(c.line)...)
			if code != exit.Usage {
				t.Errorf("exit code %d, want %d; it printed %q", code, exit.Usage, stderr)
			}
			if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "foliot: ") {
				t.Errorf("want one line on standard error, got %q and on standard output %q", stderr, stdout)
			}
			if !strings.Contains(stderr, c.names) {
				t.Errorf("%q does not name %s", stderr, c.names)
			}
		})
	}
	tasks, _, _ := s.run("", "ls")
	if schedules, _, _ := s.run("", "cron", "ls"); tasks+schedules != "" {
		t.Errorf("bad input stored tasks or schedules:\n%s%s", tasks, schedules)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, name := range []string{
		"serve", "listen", "add", "get", "ls", "cancel", "move", "touch", "run", "retry", "import", "export",
		"cron add", "cron ls", "cron get", "cron preview", "cron pause", "cron resume", "cron trigger", "cron backfill", "cron rm", "cron set", "cron import",
	} {
		s := newSession(t)
		words := strings.Fields(name)
		for _, args := range [][]string{append(words, "--help"), append([]string{"help"}, words...)} {
			stdout, stderr, code := s.runBare(args...)
			if code != exit.OK || stderr != "" || !strings.Contains(stdout, "Example") || !strings.Contains(stdout, "foliot "+name) {
				t.Errorf("foliot %v ended with %d and printed:\n%s%s", args, code, stdout, stderr)
			}
		}
	}
}

func TestTheOverallHelpListsTheExitCodes(t *testing.T) {
	s := newSession(t)
	for _, args := range [][]string{nil, {"help"}, {"--help"}} {
		stdout, _, code := s.runBare(args...)
		if code != exit.OK || !strings.Contains(stdout, exit.CodesSummary) {
			t.Errorf("foliot %v ended with %d and printed:\n%s", args, code, stdout)
		}
	}
}
