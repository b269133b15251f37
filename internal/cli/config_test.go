package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/config"
)

// configure runs foliot config with a file that contains text, and returns its
// output.
func configure(t *testing.T, text string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foliot.yaml")
	fatal.If(t, os.WriteFile(path, []byte(text), 0o600))
	stdout, stderr, code = newSession(t).runBare(append([]string{"config", "--config", path}, args...)...)
	hide := strings.NewReplacer(path, "foliot.yaml")
	return hide.Replace(stdout), hide.Replace(stderr), code
}

// keyLine returns the line of a key.
func keyLine(text, key string) string {
	found := regexp.MustCompile(`(?m)^(# )?`+regexp.QuoteMeta(key)+`:.*$`).FindAllString(text, -1)
	return strings.Join(found, "\n")
}

func TestAFlagOverridesItsVariableTheFileAndTheDefault(t *testing.T) {
	file := "grace: 1s\nconcurrency: 11\nbody-limit: 111\nhost: [a.example, b.example]\n"
	t.Setenv("FOLIOT_GRACE", "2s")
	t.Setenv("FOLIOT_CONCURRENCY", "22")
	out, errs, code := configure(t, file, "--grace", "3s")
	if code != exit.OK {
		t.Fatal(errs)
	}
	for _, want := range []string{
		"grace: 3s  # flag",
		"concurrency: 22  # environment FOLIOT_CONCURRENCY",
		"body-limit: 111  # file foliot.yaml:3",
		"host: [a.example, b.example]  # file foliot.yaml:4",
		"keep-finished: 24h  # default",
		"insecure-listen: false  # default",
		"# store: not set  # default",
	} {
		key, _, _ := strings.Cut(strings.TrimPrefix(want, "# "), ":")
		if got := keyLine(out, key); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAVariableNamesTheFileToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "foliot.yaml")
	fatal.If(t, os.WriteFile(path, []byte("grace: 4s\n"), 0o600))
	t.Setenv("FOLIOT_CONFIG", path)
	out, _, _ := newSession(t).runBare("config")
	if got := keyLine(out, "grace"); got != "grace: 4s  # file "+path+":1" {
		t.Errorf("got %q", got)
	}
	wants(t, exit.Usage, "foliot.yamlx")(newSession(t).runBare("config", "--config", path+"x"))
	wants(t, exit.OK)(newSession(t).run("", "ls"))
}

func TestAnInvalidConfigurationIsRefusedWithNameAndLine(t *testing.T) {
	for _, c := range []struct{ file, says string }{
		{"grace: 1s\nlisen: 9000\n", `foliot.yaml:2: unknown key "lisen"`},
		{"egress_allow: [10.0.0.0/8]\n", `foliot.yaml:1: unknown key "egress_allow"; did you mean "egress-allow"?`},
		{"--grace: 1s\n", `did you mean "grace"?`},
		{"config: other.yaml\n", `foliot.yaml:1: unknown key "config"`},
		{"example: true\n", `unknown key "example"`},
		{"help: true\n", `unknown key "help"`},
		{"server: http://other\n", `unknown key "server"`},
		{"? [a]\n: 1\n", `unknown key`},
		{"grace: 1s\n# a remark\ngrace: 2s\n", "foliot.yaml:3: grace is already set in line 1"},
		{"keep-dead: 30w\n", `foliot.yaml:1: keep-dead: invalid duration "30w"`},
		{"\n\ngrace: [1s]\n", "foliot.yaml:3: grace: the value must be a plain value, not a list"},
		{"grace:\n", "foliot.yaml:1: grace: the value is missing"},
		{"host: {a: b}\n", "foliot.yaml:1: host: the value must be a plain value or a list of plain values"},
		{"host:\n  - a\n  - [b]\n", "foliot.yaml:2: host: line 3: "},
		{"a: &x 1s\ngrace: *x\n", "foliot.yaml:1: "},
		{"grace: &x 1s\nlease: *x\n", `foliot.yaml:2: unknown key "lease"`},
		{"- listen\n", "foliot.yaml:1: a configuration is a list of lines"},
		{"grace: 1s\n---\ngrace: 2s\n", "foliot.yaml: line 2: a second document begins"},
		{"grace: 1s\n  host: x\n", "foliot.yaml: line 2: "},
		{"\tgrace: 1s\n", "foliot.yaml: "},
		{"grace: -1s\n", "--grace: -1s is negative (file foliot.yaml:1)"},
		{"concurrency: 0\n", "--concurrency: 0 is not between 1 and 1000000 (file foliot.yaml:1)"},
		{"egress-deny: [10.0.0.0/33]\n", `--egress-deny: "10.0.0.0/33" is not a CIDR, such as 10.0.0.0/8 (file foliot.yaml:1)`},
		{"receiver-ca: /dev/null/none\n", "--receiver-ca: open /dev/null/none: not a directory (file foliot.yaml:1)"},
		{"receiver-ca: config_test.go\n", "--receiver-ca: config_test.go contains no PEM certificate (file foliot.yaml:1)"},
		{strings.Repeat("# much ado\n", config.MaxFile/10), "is longer than"},
	} {
		out, errs, code := configure(t, c.file)
		if code != exit.Usage || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("%.40q: exit code %d, want %q, got %q%q", c.file, code, c.says, errs, out)
		}
	}
}

func TestAnEmptyConfigurationIsTheDefaults(t *testing.T) {
	want, _, _ := newSession(t).runBare("config")
	for _, file := range []string{"", "# nothing\n", "---\n", "null\n"} {
		if got, errs, code := configure(t, file); code != exit.OK || got != want {
			t.Errorf("%q: %s%s", file, errs, cmp.Diff(want, got))
		}
	}
}

func TestTheOutputOfConfigIsAConfigurationFile(t *testing.T) {
	args := []string{
		"--listen", "9000", "--host", "a,b", "--egress-allow", "10.0.0.0/8,::1", "--grace", "1h30m5s",
		"--data", "C:\\odd: # 'dir' \"x\"\nnew\tline", "--insecure-listen", "--keep-dead", "1ms1h", "--log-level", "debug",
	}
	printed, errs, code := newSession(t).runBare(append([]string{"config"}, args...)...)
	if code != exit.OK {
		t.Fatal(errs)
	}
	again, errs, code := configure(t, printed)
	origins := regexp.MustCompile(`  # [a-z]+( .*)?\n`)
	if diff := cmp.Diff(origins.ReplaceAllString(printed, "\n"), origins.ReplaceAllString(again, "\n")); code != exit.OK || diff != "" {
		t.Errorf("%s%s", errs, diff)
	}
}

func TestNoSecretIsPrinted(t *testing.T) {
	t.Setenv("FOLIOT_STORE", "redis://user:hunter2@127.0.0.1")
	out, _, code := newSession(t).runBare("config")
	if code != exit.OK || keyLine(out, "store") != "# store: set, not shown  # environment FOLIOT_STORE" {
		t.Errorf("exit code %d: %q", code, keyLine(out, "store"))
	}
	asJSON, _, _ := newSession(t).runBare("config", "-o", "json")
	refused, errs, _ := newSession(t).runBare("config", "--store", "redis://:hunter2@127.0.0.1")
	_, line, _ := newSession(t).runBare("config", "--egress-allow", "https://user:hunter2@10.0.0.0/8")
	if all := out + asJSON + refused + errs + line; strings.Contains(all, "hunter2") {
		t.Errorf("it printed the password: %s", all)
	}
}

func TestConfigPrintsJSON(t *testing.T) {
	t.Setenv("FOLIOT_GRACE", "2s")
	out, errs, code := configure(t, "host: [a]\nconcurrency: 7", "-o", "json", "--log-changes")
	var got map[string]setting
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != exit.OK || strings.Count(out, "\n") != 1 {
		t.Fatalf("%v: %s%s", err, out, errs)
	}
	for key, want := range map[string]setting{
		"host":        {Value: []any{"a"}, Origin: "file", Name: "foliot.yaml:1"},
		"concurrency": {Value: 7.0, Origin: "file", Name: "foliot.yaml:2"},
		"grace":       {Value: "2s", Origin: "environment", Name: "FOLIOT_GRACE"},
		"log-changes": {Value: true, Origin: "flag"},
		"listen":      {Value: "127.0.0.1:8750", Origin: "default"},
	} {
		if diff := cmp.Diff(want, got[key]); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}

// If the # before a key of the example is removed, the key sets its default.
func TestTheExampleHasTheDefaults(t *testing.T) {
	example, errs, code := newSession(t).runBare("config", "--example")
	if code != exit.OK || errs != "" {
		t.Fatal(errs)
	}
	want, _, _ := newSession(t).runBare("config", "-o", "json")
	if got, errs, code := configure(t, example, "-o", "json"); code != exit.OK || got != want {
		t.Errorf("as it is: %s%s", errs, cmp.Diff(want, got))
	}
	uncommented := regexp.MustCompile(`(?m)^#([a-z-]+: [^A-Z\n]+)$`).ReplaceAllString(example, "$1")
	got, errs, code := configure(t, uncommented, "-o", "json")
	if code != exit.OK {
		t.Fatal(errs)
	}
	var defaults, given map[string]setting
	fatal.If(t, json.Unmarshal([]byte(want), &defaults))
	fatal.If(t, json.Unmarshal([]byte(got), &given))
	for key, d := range defaults {
		if diff := cmp.Diff(d.Value, given[key].Value); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
		shows(t, example, "\n#"+key+": ")
	}
	if given["grace"].Origin != "file" {
		t.Error("no # was removed, so the test proves nothing")
	}
}

// FuzzParseConfig checks that any file is read or refused without a panic.
func FuzzParseConfig(f *testing.F) {
	for _, seed := range []string{
		"", "listen: 9000\nhost: [a, b]\n", "grace: 1s\ngrace: 2s\n", "a: &a [*a]\n", "? {}\n: x\n", "host:\n- a\n- &b c\n- *b\n",
		"<<: {grace: 1s}\n", "grace: !!binary YQ==\n", "---\n---\n", "\xff\xfe",
	} {
		f.Add([]byte(seed))
	}
	model := theModel()
	flags := config.FileFlags(commandOfName(model.Node, "serve"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := config.Parse("f", data, flags)
		if err != nil && !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%q does not name the file", err)
		}
		if err == nil && len(values.Keys) > len(flags) {
			t.Errorf("%d keys", len(values.Keys))
		}
	})
}

// commandOfName returns the top-level command with that name, or nil.
func commandOfName(root *kong.Node, name string) *kong.Node {
	for _, command := range root.Children {
		if command.Name == name {
			return command
		}
	}
	return nil
}
