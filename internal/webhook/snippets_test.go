package webhook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// snippet returns the block of docs/webhooks.md that is written in language.
// There is one for each.
func snippet(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(page), "\n```"+language+"\n")
	block, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatalf("docs/webhooks.md has no block in %s", language)
	}
	return block + "\n"
}

// call is a callback as somebody receives it, and whether it is to be trusted.
type call struct {
	name, id, stamp, signatures, body string

	trusted bool
}

func calls(now time.Time) []call {
	const id = "0198c0de-0000-7000-8000-000000000042"
	made := func(name, body string, at time.Time, trusted bool, keys ...[]byte) call {
		return call{name, id, fmt.Sprint(at.Unix()), Sign(keys, id, at, []byte(body)), body, trusted}
	}
	const minute = time.Minute
	const text = `{"order": 42, "name": "grüße"}`
	good := made("a callback", text, now, true, older)
	list := []call{
		good,
		made("two secrets, the second is ours", text, now, true, newer, older),
		made("two secrets, the first is ours", text, now, true, older, newer),
		made("no body", "", now, true, older),
		made("bytes", "\x00\xff\xfe.\r\n\x00", now, true, older),
		made("four minutes old", text, now.Add(-4*minute), true, older),
		made("four minutes ahead", text, now.Add(4*minute), true, older),
		made("six minutes old", text, now.Add(-6*minute), false, older),
		made("six minutes ahead", text, now.Add(6*minute), false, older),
		made("another secret", text, now, false, newer),
		made("no signature", text, now, false),
	}
	for name, edit := range map[string]func(c *call){
		"another body":     func(c *call) { c.body = c.body[1:] },
		"another id":       func(c *call) { c.id = c.id[1:] },
		"another time":     func(c *call) { c.stamp = fmt.Sprint(now.Unix() - 1) },
		"no time":          func(c *call) { c.stamp = "" },
		"a time of words":  func(c *call) { c.stamp = "yesterday" },
		"an endless time":  func(c *call) { c.stamp = strings.Repeat("9", 5000) },
		"another version":  func(c *call) { c.signatures = "v2" + c.signatures[2:] },
		"half a signature": func(c *call) { c.signatures = c.signatures[:20] },
		"a border moved": func(c *call) {
			moved := made("", c.stamp+".rest", now, false, older)
			c.id, c.signatures, c.body = moved.id+"."+c.stamp, moved.signatures, "rest"
		},
	} {
		c := good
		edit(&c)
		c.name, c.trusted = name, false
		list = append(list, c)
	}
	unknown := good
	unknown.name, unknown.signatures = "unknown versions beside it", "v1a,abc v2,"+" "+good.signatures+" v3"
	return append(list, unknown)
}

// TestTheSnippetsOfTheDocumentation runs each with a harness in testdata that
// reads callbacks from its standard input, one a line, and answers true or
// false to each. The secret is its argument.
func TestTheSnippetsOfTheDocumentation(t *testing.T) {
	for _, c := range []struct {
		language string
		files    [2]string // the snippet's and the harness's
		edit     *strings.Replacer
		command  []string
	}{
		{"go", [2]string{"verify.go", "main.go"}, strings.NewReplacer("package receiver", "package main"), []string{"go"}},
		{"python", [2]string{"verify.py", "main.py"}, nil, []string{"python3", "main.py"}},
		// Not each node reads types, and what they say is not what is tested here.
		{"ts", [2]string{"verify.mjs", "main.mjs"}, strings.NewReplacer("import type { IncomingHttpHeaders } from \"node:http\";", "",
			": string", "", ": IncomingHttpHeaders", "", ": Buffer", "", ": boolean", ""), []string{"node", "main.mjs"}},
		{"java", [2]string{"Webhooks.java", "Main.java"}, nil, []string{"java", "Main.java"}},
		{"ruby", [2]string{"verify.rb", "main.rb"}, nil, []string{"ruby", "main.rb"}},
		{"php", [2]string{"verify.php", "main.php"}, nil, []string{"php", "main.php"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(c.command[0])
			if err != nil {
				t.Skipf("%s is not on this machine", c.command[0])
			}
			text := snippet(t, c.language)
			if c.edit != nil {
				text = c.edit.Replace(text)
			}
			harness, err := os.ReadFile(filepath.Join("testdata", c.files[1]+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if c.language == "java" { // it runs a single file by its first class
				harness, text = []byte(strings.Replace(text, "class Webhooks", string(harness)+"\nclass Webhooks", 1)), ""
			}
			dir := t.TempDir()
			write(t, dir, c.files[0], text)
			write(t, dir, c.files[1], string(harness))
			if c.language == "go" { // what it takes to compile must not make the callbacks older
				cmd := exec.CommandContext(t.Context(), path, append([]string{"build", "-o", "verify"}, c.files[:]...)...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				path = filepath.Join(dir, "verify")
			}

			all := calls(time.Now())
			var in, errs bytes.Buffer
			for _, one := range all {
				fmt.Fprintf(&in, "%s\t%s\t%s\t%s\n", one.id, one.stamp, one.signatures, base64.StdEncoding.EncodeToString([]byte(one.body)))
			}
			cmd := exec.CommandContext(t.Context(), path, append(c.command[1:], FormatSecret(older))...)
			cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &in, &errs
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v\n%s", c.command, err, errs.String())
			}
			answers := strings.Fields(string(out))
			if len(answers) != len(all) {
				t.Fatalf("%d answers to %d callbacks:\n%s%s", len(answers), len(all), out, errs.String())
			}
			for i, one := range all {
				if answers[i] != fmt.Sprint(one.trusted) {
					t.Errorf("%s: it says %s", one.name, answers[i])
				}
			}
		})
	}
}

// TestTheShellsSnippet signs what we sign.
func TestTheShellsSnippet(t *testing.T) {
	for _, tool := range []string{"sh", "openssl", "base64", "od"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	dir := t.TempDir()
	for i, body := range []string{"", `{"order":42}`, "\x00\xff\r\n"} {
		write(t, dir, "body", body)
		script := snippet(t, "sh") + `sign "$1" "$2" "$3" body`
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", FormatSecret(older), "some-id", "1800000000")
		cmd.Dir = dir
		out, err := cmd.Output()
		want := Sign([][]byte{older}, "some-id", time.Unix(1_800_000_000, 0), []byte(body))
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("body %d: %q, want %q (%v)", i, got, want, err)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
