package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cli/completion"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest"
)

// completed returns the completions of a command line up to the cursor.
func completed(line string) string {
	kind, list := completion.Of(theModel().Node, strings.Split(line, " "))
	var words []string
	for _, c := range list {
		words = append(words, c.Text)
	}
	return string(kind) + ": " + strings.Join(words, " ")
}

func TestCompletionsAtTheCursor(t *testing.T) {
	for line, want := range map[string]string{
		"ser":                                  "words: serve",
		"nothing":                              "words: ",
		"comple":                               "words: completion", // complete is hidden, because only scripts call it
		"queue p":                              "words: pause purge",
		"queue pause ":                         "words: ",
		"completion ":                          "words: bash zsh fish",
		"completion z":                         "words: zsh",
		"completion zsh ":                      "words: ",
		"serve --tls-c":                        "words: --tls-cert --tls-client-ca",
		"queue set a --no-":                    "words: --no-keep-bodies",
		"serve --tls-cert ":                    "files: ",
		"serve --tls-cert=x":                   "files: ",
		"serve --data ":                        "directories: ",
		"serve --log-level ":                   "words: debug info warn error",
		"serve --log-level=":                   "words: --log-level=debug --log-level=info --log-level=warn --log-level=error",
		"serve --log-level=w":                  "words: --log-level=warn",
		"serve --log-level warn --log-format ": "words: text json",
		"serve --insecure-listen --log-format": "words: --log-format",
		"serve --nonsense=":                    "words: ",
		"-o ":                                  "words: text json",
		"-o j":                                 "words: json",
		"-o json ser":                          "words: serve",
		"ls --server http://x -o ":             "words: text json",
		"--server add":                         "words: ", // the word is the value of the flag
		"--server add ad":                      "words: add",
		"--server=http://x ad":                 "words: add",
		"import ":                              "files: ",
		"import a --batch 1 ":                  "words: ",
		"add -- --":                            "words: ",
		"cron p":                               "words: preview",
		"cron import ":                         "files: ",
		"cron import f --overlap ":             "words: allow skip buffer_one",
		"cron add a b c --missed ":             "words: fire_once skip fire_all",
		"add http://x --priority=h":            "words: --priority=high",
		"list --st":                            "words: --state",
		"task can":                             "words: cancel",
		"context u":                            "words: use",
		"config --conf":                        "words: --config",
	} {
		if got := completed(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
	if got := completed(""); !strings.HasPrefix(got, "words: demo serve config ") {
		t.Errorf("nothing typed: %q", got)
	}
}

// FuzzComplete checks that any command line gets completions that match it.
func FuzzComplete(f *testing.F) {
	for _, seed := range []string{"", "serve --log-level=w", "-o", "--", "queue -- -x", "serve --=", "-", "add -d"} {
		f.Add(seed)
	}
	root := theModel().Node
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		_, list := completion.Of(root, words)
		for _, c := range list {
			if !strings.HasPrefix(c.Text, words[len(words)-1]) {
				t.Errorf("%q offers %q", line, c.Text)
			}
		}
	})
}

// asFoliot puts a command foliot on the PATH, which runs this test binary.
func asFoliot(t *testing.T, shell string) string {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("there is no " + shell)
	}
	self, err := os.Executable()
	fatal.If(t, err)
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "foliot")); err != nil {
		t.Skip(err)
	}
	t.Setenv(asBinary, "1")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return path
}

// shellWords runs a script in a directory with a few files, and returns the
// words that the script prints.
func shellWords(t *testing.T, shell, script string, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	servertest.WriteFile(t, filepath.Join(dir, "cert.pem"), nil)
	servertest.WriteFile(t, filepath.Join(dir, "two words.pem"), nil)
	fatal.If(t, os.Mkdir(filepath.Join(dir, "certs"), 0o700))
	cmd := exec.CommandContext(t.Context(), shell, append(args, script)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	words := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(words)
	return words
}

// bash splits a line at spaces, = and :, and passes the pieces to the script.
func TestBashCompletes(t *testing.T) {
	bash := asFoliot(t, "bash")
	lines := []struct{ line, want string }{
		{"foliot serve --log-l", "--log-level"},
		{"foliot serve --log-format = ''", "text json"},
		{"foliot serve --log-format =", "text json"},
		{"foliot --server = http : //127.0.0.1 -o j", "json"},
		{"foliot serve --tls-cert = cer", "cert.pem certs"},
		{"foliot serve --tls-cert two", "two words.pem"},
		{"foliot serve --data ''", "certs"},
	}
	script, want := "source <(foliot completion bash)\n", []string{}
	for _, l := range lines {
		script += "COMP_WORDS=(" + l.line + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _foliot; echo \"" + l.line + ": ${COMPREPLY[*]}\"\n"
		want = append(want, l.line+": "+l.want)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, shellWords(t, bash, script, "--norc", "-c")); diff != "" {
		t.Error(diff)
	}
}

func TestFishCompletes(t *testing.T) {
	quick.Leave(t, "runs a shell")
	fish := asFoliot(t, "fish")
	for line, want := range map[string][]string{
		"foliot que":                     {"queue"},
		"foliot serve --log-format ":     {"json", "text"},
		"foliot serve --log-format=j":    {"--log-format=json"},
		"foliot --server=http://x -o j":  {"json"},
		"foliot serve --tls-cert cer":    {"cert.pem", "certs/"},
		"foliot serve --tls-cert=cer":    {"--tls-cert=cert.pem", "--tls-cert=certs/"},
		"foliot serve --data ":           {"certs/"},
		"foliot add http://x --output j": {"json"},
	} {
		script := "foliot completion fish | source; complete -C '" + line + "' | string replace -r '\\t.*' ''; true"
		if got := shellWords(t, fish, script, "--no-config", "-c"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

// zsh cannot be asked for completions from outside. So the test replaces the
// functions that offer completions by functions that print them.
func TestZshCompletes(t *testing.T) {
	zsh := asFoliot(t, "zsh")
	for line, want := range map[string][]string{
		"foliot que":                      {"queue:Manage queues: limits, pauses, purges."},
		"foliot serve --log-format ''":    {"json:", "text:"},
		"foliot serve --log-format=j":     {"--log-format=json:"},
		"foliot --server http://x:1 -o j": {"json:"},
		"foliot serve --tls-cert cer":     {"files", "without --*="},
		"foliot serve --tls-cert=cer":     {"files", "without --*="},
		"foliot serve --data ''":          {"files -/", "without --*="},
	} {
		script := `compdef() { }
_describe() { print -rl -- "${(@P)3}" }; _files() { print -r -- files $* }; compset() { print -r -- "without $2" }
source =(foliot completion zsh)
words=(` + line + `) CURRENT=${#words}
_foliot`
		if got := shellWords(t, zsh, script, "-fc"); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}
