package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// injections have texts that a shell could expand, split or execute.
var injections = []string{
	`\'; touch injected; #`, `'; touch injected; '`, `back\slash`, `\`, `\\'`, "$(touch injected)", "`touch injected`", "$HOME", "!!", "* ~ {a,b}",
}

// shells are the flags of each shell that keep it from reading files of the user.
var shells = map[string][]string{"sh": nil, "dash": nil, "bash": {"--norc"}, "zsh": {"-f"}, "fish": {"--no-config"}}

// runCopied runs a command line in a shell, in which foliot and curl only record
// their arguments and their standard input.
func runCopied(t *testing.T, shell, line string) (args []string, stdin string) {
	t.Helper()
	path, err := exec.LookPath(shell)
	if err != nil {
		t.Skip("there is no " + shell)
	}
	dir := t.TempDir()
	for _, program := range []string{"foliot", "curl"} {
		script := "#!/bin/sh\nprintf '%s\\0' \"$@\" >args\ncat >stdin\n"
		noError(t, os.WriteFile(filepath.Join(dir, program), []byte(script), 0o700))
	}
	cmd := exec.Command(path, append(slices.Clone(shells[shell]), "-c", line)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "FOLIOT_TOKEN=secret-token", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%s: %v: %s", line, err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "injected")); err == nil {
		t.Errorf("%s runs injected code of\n%s", shell, line)
	}
	recorded, err := os.ReadFile(filepath.Join(dir, "args"))
	noError(t, err)
	input, err := os.ReadFile(filepath.Join(dir, "stdin"))
	noError(t, err)
	return strings.Split(strings.TrimSuffix(string(recorded), "\x00"), "\x00"), string(input)
}

// copied returns the text that creates a task again, with its body and headers.
func copied(b *tab, name, language string) string {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, "#/task/"+name))
	b.await(fmt.Sprintf(`document.querySelector('h1')?.textContent === %q`, name))
	b.click("main", "Copy as…")
	for _, label := range []string{language, "With the values of headers and the body"} {
		b.await(fmt.Sprintf(`(() => { const el = [...document.querySelectorAll('dialog label')].find((e) => e.textContent.trim() === %q); el?.click(); return el !== undefined })()`, label))
	}
	b.await(`document.querySelector('dialog input[type=checkbox]').checked`)
	text := eval[string](b, `document.querySelector('dialog .copied').textContent`)
	b.click("dialog", "Close")
	return text
}

func TestACopiedCommandIsReadAlikeByAllShellsAndHidesTheToken(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	labels, headers := object{}, object{}
	for i, text := range injections {
		labels[fmt.Sprintf("l%d", i)], headers[fmt.Sprintf("X-%d", i)] = text, text
	}
	body := strings.Join(injections, " ")
	create := func(name string, labels, headers object, body any) {
		s.must("PUT", "/v1/tasks/"+name, object{"delay": "1h", "labels": labels, "http": object{"url": "http://127.0.0.1:1/", "headers": headers, "body": body}}, nil)
	}
	create("text", labels, headers, body)
	create("at", object{}, object{}, "@"+body)
	create("flag", object{}, object{}, "--server=http://127.0.0.1:1")
	create("json", object{}, object{}, object{"text": body + "\n\u202e"})
	create("binary", object{}, object{}, "\x1b[2J")
	create("control", object{"note": "a\u202eb"}, object{}, "x")
	b := open(t, s, s.token, viewports[0], "")
	type command struct{ foliot, curl string }
	commands := map[string]command{}
	for _, name := range []string{"text", "at", "flag", "json", "binary"} {
		commands[name] = command{copied(b, name, "foliot"), copied(b, name, "curl")}
	}
	if got := copied(b, "control", "foliot"); !strings.HasPrefix(got, "There is no command: a value has a control character") {
		t.Errorf("a label with a control character: %s", got)
	}
	for shell := range shells {
		t.Run(shell, func(t *testing.T) {
			args, _ := runCopied(t, shell, commands["text"].foliot)
			for i, text := range injections {
				for _, want := range []string{fmt.Sprintf("l%d=%s", i, text), fmt.Sprintf("X-%d: %s", i, text)} {
					if !slices.Contains(args, want) {
						t.Errorf("no argument is %q: %q", want, args)
					}
				}
			}
			for name, want := range map[string]string{"text": body, "at": "@-", "flag": "--server=http://127.0.0.1:1", "binary": "@body.bin"} {
				args, stdin := runCopied(t, shell, commands[name].foliot)
				if !slices.Contains(args, "--data="+want) || name == "at" && stdin != "@"+body {
					t.Errorf("%s: the body is not %q: %q with %q", name, want, args, stdin)
				}
			}
			for name, c := range commands {
				args, stdin := runCopied(t, shell, c.curl)
				var sent struct{ HTTP struct{ Body any } }
				if at := slices.Index(args, "--json"); json.Unmarshal([]byte(args[at+1]), &sent) != nil {
					t.Fatalf("%s: no JSON: %q", name, args)
				}
				want := map[string]any{"text": body, "at": "@" + body, "flag": "--server=http://127.0.0.1:1", "json": map[string]any{"text": body + "\n\u202e"}, "binary": "\x1b[2J"}[name]
				if fmt.Sprint(sent.HTTP.Body) != fmt.Sprint(want) {
					t.Errorf("%s: curl sends %q, want %q", name, sent.HTTP.Body, want)
				}
				if strings.Contains(strings.Join(args, " "), "secret-token") || stdin != "Authorization: Bearer secret-token" {
					t.Errorf("%s: curl gets the token from %q and %q, want it from the standard input alone", name, args, stdin)
				}
			}
		})
	}
}

func TestALinkPutsNoInvalidNameIntoCommands(t *testing.T) {
	t.Parallel()
	s := newSecured(t)
	b := open(t, s, s.token, viewports[0], "#/now?namespace="+escape("x'; touch injected #"))
	b.await(`document.body.innerText.includes('The link has an error: no namespace can have the name')`)
	eval[bool](b, `(location.hash = '#/tasks', true)`)
	b.await(`document.querySelector('main .command code') !== null`)
	if got := eval[string](b, `document.querySelector('main .command code').textContent + sessionStorage.getItem('foliot.namespace')`); strings.Contains(got, "injected") {
		t.Errorf("after the link, a command of another page is %s", got)
	}
	for _, page := range []string{"task", "queues", "schedules", "destinations"} {
		eval[bool](b, fmt.Sprintf(`(location.hash = %q, true)`, "#/"+page+"/"+escape("--server=http://127.0.0.1:1")))
		b.await(`document.body.innerText.includes('The link has an error: no record can have the name --server')`)
	}
}
