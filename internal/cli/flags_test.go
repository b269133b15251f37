package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// An invalid command line ends with exit code 2 and one line that names the
// mistake. Nothing is stored.
func TestBadInputIsOneLineThatNamesTheFlag(t *testing.T) {
	s := newSession(t)
	long := filepath.Join(s.dir, "long")
	fatal.If(t, os.WriteFile(long, make([]byte, task.MaxBody+1), 0o600))
	dir := func(name string) string { return filepath.Join(s.dir, name) }
	cases := []struct{ line, names string }{
		{"backup " + dir("none/file"), "backup to " + dir("none/file") + ": the directory " + dir("none") + " does not exist"},
		{"export " + dir("none/file"), "the directory " + dir("none") + " does not exist"},
		{"add http://127.0.0.1:9/ --in 1s -d @" + dir("nofile"), "--data"},
		{"add http://127.0.0.1:9/ --in 1s -d @" + long, "--data"},
		{"cron add " + strings.Repeat("a", task.MaxScheduleName+1) + " @daily http://127.0.0.1:9/", "NAME"},
		{"cron import " + dir("nofile"), dir("nofile") + ": no such file"},
		{"import " + dir("nofile"), dir("nofile") + ": no such file"},
		{"import " + s.dir, s.dir + " is a directory"},
	}
	// Each line has the words of a command and, between bars, what may follow them.
	// The error names the last flag, or the text behind the arrow.
	for _, c := range []struct{ command, rests string }{
		{"", "frobnicate => unknown command frobnicate; | --frobnicate ls | -o yaml ls => --output"},
		{"", `lst => unknown command lst, did you mean one of "get", "ls"? | pause mail => unknown command pause;`},
		{"", "--queue mail ls => unknown flag --queue | create => --in | --server nowhere ls"},
		{"", "token generate --server http://127.0.0.1:9 => --server: this command calls no server"},
		{"", "doctor data none --namespace shop => --namespace: this command calls no server | get => <name> | get a b => b | get a/b => NAME"},
		{"", "cancel => NAME | cancel a --queue mail => NAME | cancel --all --queue mail => --all | cancel a/b => NAME | retry => NAME | touch => <name>"},
		{"", "touch => <name> | move a --now --in 1s => --now | move --all --now | move a => --in, --at | move a --in x | cron add => <name> | import => <file> | export --state gone | config --grace=-1s"},
		{"", "completion tcsh => <shell>"},
		{"ls", `--quue mail => unknown flag --quue, did you mean "--queue"? | --limit -1 | --state finished | --label x | --queue a/b | --due-before noon`},
		{"cron add", "a http://127.0.0.1:9/ '0 21 * * *' => CRON: this is a URL: write the expression | a --kind report => CRON | a => URL"},
		{"cron add", "a/b @daily http://127.0.0.1:9/ => NAME | a http://127.0.0.1:9/ => CRON | a '0 21 * *' => URL"},
		{"cron add", "a 0 21 x x x http://127.0.0.1:9/ => in quotes | a '0 25 * * *' http://127.0.0.1:9/ => CRON | a @daily 127.0.0.1:9/ => URL"},
		{"cron add", "a http://127.0.0.1:9/ --every 1w | a http://127.0.0.1:9/ --every 5s --timezone UTC"},
		{"add", "--in 1s => URL | --in 1s --args {} | --in 1s --kind close-order --args { | --in 1s --kind close-order --json {} => --kind"},
		{"add", "--in 1s --kind a/b | 127.0.0.1:9/hook --in 1s => URL"},
		{"cron add a @daily http://127.0.0.1:9/", "--kind report => URL, --kind | --every 5s => CRON, --every | --timezone Local | --dst-gap both"},
		{"cron add a @daily http://127.0.0.1:9/", "--dst-overlap next | --start noon | --end -1h | --max-runs=-1 | --jitter 25h | --missed some"},
		{"cron add a @daily http://127.0.0.1:9/", "--catchup-window some | --catchup-limit 10001 | --overlap never"},
		{"add http://127.0.0.1:9/", " => --in, --at | --in 1w | --at tomorrow | --timezone UTC => --in, --at"},
		{"add http://127.0.0.1:9/ --in 1s", "--at 2030-01-01T00:00:00Z => --in, --at | --name 'no spaces' | --queue a/b | --priority urgent"},
		{"add http://127.0.0.1:9/ --in 1s", "--label tenant | --label a=1 --label a=2 | -X BREW => --method | -H X-Shop => --header"},
		{"add http://127.0.0.1:9/ --in 1s", "-H 'X-Shop: 1' -H 'X-Shop: 2' => --header | --json { | --json {} -d text | --timeout 0.5"},
		{"add http://127.0.0.1:9/ --in 1s", "--expire-after soon | --max-attempts many | --min-backoff 1 | --min-backoff 2h --max-backoff 1h | --max-age x"},
		{"add http://127.0.0.1:9/ --in 1s", "--replace"},
		{"cron", "set => <name> | set a/b --timeout 1s => NAME | set a => no field to change | get a@1 => NAME | rm => <name> | ls --label x"},
		{"cron", "backfill a => --from | backfill a --from noon | backfill a --from -1h --until -2h | preview a/b => must consist | preview a --timezone UTC"},
		{"cron", "preview a -n 0 => --limit | preview a --from noon | preview '0 21 * *' => NAME-OR-CRON | preview '* * * * *' --dst-gap both"},
		{"cron", "preview '@every 5s' --timezone UTC | import => <file>"},
		{"cron import -", "--prefix -a | --timezone Berlin | --timeout soon | --overlap never | --on-dead nowhere"},
		{"import -", "--batch 0 | --parallel 0"},
		{"listen", "nowhere => ADDR | 127.0.0.1:70000 => ADDR | --status 99 | --count=-1"},
		{"serve", "--listen nowhere | --listen 127.0.0.1:port | --listen 0.0.0.0:8750 | --store redis://127.0.0.1:x | --node a | --shards 16"},
		{"serve", "--shard-lease 1s | --durability strict | --redis-unsafe | --data ''"},
		{"serve", "--egress-allow 10.0.0.0/33 | --grace x | --host https://foliot.example | --body-limit 0 | --concurrency=-1 | --log-level loud"},
		{"serve", "--tls-cert x | --tls-key x | --tls-client-ca x | --tls-cert nofile --tls-key nofile => --tls-cert | --trusted-proxy proxy"},
		{"serve", "--egress-deny private | --keep-finished 0s | --keep-dead=-1h | --audit-keep 30w"},
		{"serve", "--config nofile | --log-format xml"},
		{"serve --store redis://127.0.0.1", "--node a/b | --shards=-1 | --shard-lease 100ms | --durability some"},
	} {
		for rest := range strings.SplitSeq(c.rests, " | ") {
			rest, names, found := strings.Cut(rest, " => ")
			line := strings.TrimSpace(c.command + " " + rest)
			if !found {
				names, _, _ = strings.Cut(line[strings.LastIndex(line, "--"):], " ")
				names, _, _ = strings.Cut(names, "=")
			}
			cases = append(cases, struct{ line, names string }{line, names})
		}
	}
	for _, c := range cases {
		t.Run(c.line, func(t *testing.T) {
			stdout, stderr, code := s.run("", s.words(c.line)...)
			if code != exit.Usage {
				t.Errorf("exit code %d, want %d; it printed %q", code, exit.Usage, stderr)
			}
			if stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "foliot: ") {
				t.Errorf("want one line on standard error, got %q and on standard output %q", stderr, stdout)
			}
			shows(t, stderr, c.names)
		})
	}
	tasks, _, _ := s.run("", "ls")
	if schedules, _, _ := s.run("", "cron", "ls"); tasks+schedules != "" {
		t.Errorf("bad input stored tasks or schedules:\n%s%s", tasks, schedules)
	}
}

func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	for _, name := range []string{
		"serve", "listen", "add", "get", "ls", "cancel", "move", "touch", "retry", "import", "export",
		"cron add", "cron ls", "cron get", "cron preview", "cron trigger", "cron backfill", "cron rm", "cron set", "cron import",
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
		wants(t, exit.OK, exit.CodesSummary)(s.runBare(args...))
	}
}

var (
	// endOfExample matches the end of the command line in an example: a remark or
	// an operator of the shell.
	endOfExample = regexp.MustCompile(`   .*| [|>&].*`)
	// substitution matches text that the shell replaces by a word.
	substitution = regexp.MustCompile(`"?\$\([^)]*\)"?`)
)

// Each example of a help text must be a valid command line.
func TestEveryExampleOfAHelpTextParses(t *testing.T) {
	s := &session{t: t}
	found := 0
	for _, leaf := range theModel().Leaves(true) {
		for line := range strings.Lines(leaf.Detail) {
			example, ok := strings.CutPrefix(strings.TrimSpace(line), "foliot ")
			if !ok || !strings.HasPrefix(line, "    ") || strings.Contains(example, "--config /") { // the parser would read that file
				continue
			}
			found++
			args := s.words(substitution.ReplaceAllString(endOfExample.ReplaceAllString(example, ""), "word"))
			if err := parse(args); err != nil {
				t.Errorf("foliot %s: %v", example, err)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d examples were found", found)
	}
}

// A negative value needs no equals sign before it.
func TestANegativeValueIsJoinedToItsFlag(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"audit --since -1h -n 5", "audit --since=-1h -n 5"},
		{"ls --due-after -.5s", "ls --due-after=-.5s"},
		{"queue set mail --rate -3", "queue set mail --rate=-3"},
		{"ls --due-after=-1h -3", "ls --due-after=-1h -3"},
		{"get -- --name -1h", "get -- --name -1h"},
		{"backup -", "backup -"},
		{"top --once -o json", "top --once -o json"},
	} {
		if got := strings.Join(joinNegative(strings.Fields(c.line)), " "); got != c.want {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
}
