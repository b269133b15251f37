package webhook

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/webhook"
)

// snippet returns the block of docs/webhooks.md in a language. Each language
// has one.
func snippet(t *testing.T, language string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/webhooks.md")
	fatal.If(t, err)
	_, after, found := strings.Cut(string(page), "\n```"+language+"\n")
	block, _, closed := strings.Cut(after, "\n```\n")
	if !found || !closed {
		t.Fatalf("docs/webhooks.md has no block in %s", language)
	}
	return block + "\n"
}

// call is a callback as a receiver's framework passes it to verify, and whether
// verify must trust it.
type call struct {
	name, id, stamp, signatures string

	kind, length, transfer string // Content-Type, Content-Length and Transfer-Encoding
	body                   string
	shape                  string // of the body in Node: see main.mjs.txt
	trusted                bool
	only                   string // the languages in which verify can decide this; empty means all
}

// absent is the value of a header that the request does not have.
const absent = "\x00absent"

// line returns the call in the format of the harnesses.
func (c *call) line() string {
	fields := []string{c.id, c.stamp, c.signatures, c.kind, c.length, c.transfer, c.body}
	for i, f := range fields {
		if fields[i] = base64.StdEncoding.EncodeToString([]byte(f)); f == absent {
			fields[i] = "-"
		}
	}
	return strings.Join(append(fields, c.shape), "\t") + "\n"
}

const callID = "0198c0de-0000-7000-8000-000000000042"

func calls(now time.Time) []call {
	made := func(name, body string, at time.Time, trusted bool, secrets ...string) call {
		c := call{name: name, id: callID, stamp: fmt.Sprint(at.Unix()), signatures: sign(secrets, callID, at, body), body: body, trusted: trusted}
		c.kind, c.length, c.transfer, c.shape = "application/json", fmt.Sprint(len(body)), absent, "bytes"
		return c
	}
	const minute = time.Minute
	const text = `{"order": 42, "name": "grüße"}`
	good, empty := made("a callback", text, now, true, older), made("no body", "", now, true, older)
	list := []call{
		good, empty,
		made("two secrets, the second is ours", text, now, true, newer, older),
		made("two secrets, the first is ours", text, now, true, older, newer),
		made("bytes", "\x00\xff\xfe.\r\n\x00", now, true, older),
		made("four minutes old", text, now.Add(-4*minute), true, older),
		made("four minutes ahead", text, now.Add(4*minute), true, older),
		made("six minutes old", text, now.Add(-6*minute), false, older),
		made("six minutes ahead", text, now.Add(6*minute), false, older),
		made("a year old", text, now.Add(-365*24*60*minute), false, older),
		made("another secret", text, now, false, newer),
		made("no signature", text, now, false),
	}
	add := func(base call, name string, trusted bool, edit func(c *call)) {
		edit(&base)
		base.name, base.trusted = name, trusted
		list = append(list, base)
	}
	for name, edit := range map[string]func(c *call){
		"another body":                       func(c *call) { c.body = c.body[1:] },
		"a body that was taken away":         func(c *call) { c.body = "" },
		"a longer body":                      func(c *call) { c.body += " " },
		"another id":                         func(c *call) { c.id = c.id[1:] },
		"no id":                              func(c *call) { c.id = absent },
		"an empty id":                        func(c *call) { c.id = "" },
		"two ids, joined":                    func(c *call) { c.id += ", " + c.id },
		"another id before it, joined":       func(c *call) { c.id = "evil, " + c.id },
		"an id of 100 kB":                    func(c *call) { c.id = strings.Repeat("x", 100_000) },
		"an id that is not UTF-8":            func(c *call) { c.id = "\xff\xfe\xc0" },
		"another time":                       func(c *call) { c.stamp = fmt.Sprint(now.Unix() - 1) },
		"no time":                            func(c *call) { c.stamp = absent },
		"an empty time":                      func(c *call) { c.stamp = "" },
		"two times, joined":                  func(c *call) { c.stamp += ", " + c.stamp },
		"a time of words":                    func(c *call) { c.stamp = "yesterday" },
		"a time that is not UTF-8":           func(c *call) { c.stamp = "\xff\xfe" },
		"a time with a line break":           func(c *call) { c.stamp += "\n" },
		"a time with a space":                func(c *call) { c.stamp = " " + c.stamp },
		"a time with a sign":                 func(c *call) { c.stamp = "+" + c.stamp },
		"a time with a fraction":             func(c *call) { c.stamp += ".5" },
		"a time in hexadecimal":              func(c *call) { c.stamp = fmt.Sprintf("0x%x", now.Unix()) },
		"a time with an exponent":            func(c *call) { c.stamp = "1e9" },
		"a time in other digits":             func(c *call) { c.stamp = strings.Repeat("\u0661", 10) },
		"an endless time":                    func(c *call) { c.stamp = strings.Repeat("9", 5000) },
		"id and time exchanged":              func(c *call) { c.id, c.stamp = c.stamp, c.id },
		"no signature header":                func(c *call) { c.signatures = absent },
		"an empty signature":                 func(c *call) { c.signatures = "" },
		"spaces for a signature":             func(c *call) { c.signatures = "   " },
		"a comma for a signature":            func(c *call) { c.signatures = "v1," },
		"another version":                    func(c *call) { c.signatures = "v2" + c.signatures[2:] },
		"another version of the same length": func(c *call) { c.signatures = "v1a" + c.signatures[2:] },
		"a version in capitals":              func(c *call) { c.signatures = "V1" + c.signatures[2:] },
		"no version":                         func(c *call) { c.signatures = c.signatures[3:] },
		"half a signature":                   func(c *call) { c.signatures = c.signatures[:20] },
		"a signature without its padding":    func(c *call) { c.signatures = strings.TrimRight(c.signatures, "=") },
		"a signature with more behind it":    func(c *call) { c.signatures += "=" },
		"signatures that are not UTF-8":      func(c *call) { c.signatures = "v1,\xff\xfe \xc0" },
		"a megabyte of signatures":           func(c *call) { c.signatures = strings.Repeat("v1,AAAA ", 1<<17) },
		"a border moved": func(c *call) {
			moved := made("", c.stamp+".rest", now, false, older)
			c.id, c.signatures, c.body = moved.id+"."+c.stamp, moved.signatures, "rest"
		},
	} {
		add(good, name, false, edit)
	}
	for name, edit := range map[string]func(c *call){
		"unknown versions next to it":      func(c *call) { c.signatures = "v1a,abc v2, " + c.signatures + " v3" },
		"a thousand signatures before it":  func(c *call) { c.signatures = strings.Repeat("v1,AAAA ", 1000) + c.signatures },
		"one that is not UTF-8 before it":  func(c *call) { c.signatures = "v1,\xff\xfe " + c.signatures },
		"sent in chunks":                   func(c *call) { c.length, c.transfer = absent, "chunked" },
		"without a content type":           func(c *call) { c.kind = absent },
		"of a form, with its bytes":        func(c *call) { c.kind = "multipart/form-data; boundary=x" },
		"of another form, with its bytes":  func(c *call) { c.kind = "application/x-www-form-urlencoded" },
		"of a type that is not UTF-8":      func(c *call) { c.kind = "\xff\xfe" },
		"of a type of 100 kB":              func(c *call) { c.kind = strings.Repeat("x", 100_000) },
		"compressed, as the task said":     func(c *call) { c.kind = "application/gzip" },
		"of the type of another framework": func(c *call) { c.kind = "text/plain; charset=utf-16" },
	} {
		add(good, name, true, edit)
	}
	for name, edit := range map[string]func(c *call){
		"no body, and no bytes (Express 5)":      func(c *call) { c.shape, c.length = "undefined", absent },
		"no body, and an object (Express 4)":     func(c *call) { c.shape, c.length = "object", absent },
		"no body of length 0, and no bytes":      func(c *call) { c.shape = "undefined" },
		"no body, neither length nor type":       func(c *call) { c.kind, c.length, c.shape = absent, absent, "undefined" },
		"no body, and an empty length (FastCGI)": func(c *call) { c.kind, c.length = "", "" },
	} {
		add(empty, name, true, edit)
	}
	// A callback without a body, sent again with a body that the framework
	// parsed before verify was called.
	for name, edit := range map[string]func(c *call){
		"multipart":             func(c *call) { c.kind, c.length = "multipart/form-data; boundary=x", "120" },
		"multipart in chunks":   func(c *call) { c.kind, c.length, c.transfer = "multipart/form-data; boundary=x", absent, "chunked" },
		"multipart in capitals": func(c *call) { c.kind, c.length, c.transfer = "MULTIPART/FORM-DATA; boundary=x", absent, "chunked" },
		"multipart behind a break": func(c *call) {
			c.kind, c.length, c.transfer = "text/plain\n, multipart/form-data; boundary=x", absent, "chunked"
		},
		"multipart in capitals, İ": func(c *call) {
			c.kind, c.length, c.transfer = "\xc4\xb0 multipart/form-data; boundary=x", absent, "chunked"
		},
		"an encoded form":           func(c *call) { c.kind, c.length = "application/x-www-form-urlencoded", "120" },
		"an encoded form in chunks": func(c *call) { c.kind, c.length, c.transfer = "application/x-www-form-urlencoded", absent, "chunked" },
	} {
		for _, shape := range []string{"parsed", "object", "undefined", "text"} {
			add(empty, name+", replayed over no body, as "+shape, false, func(c *call) { edit(c); c.shape = shape })
		}
	}
	for _, shape := range []string{"parsed", "object", "undefined", "text"} {
		add(empty, "JSON, replayed over no body, as "+shape, false, func(c *call) { c.length, c.shape, c.only = "120", shape, "go python ts ruby php" })
		add(empty, "JSON in chunks, replayed over no body, as "+shape, false, func(c *call) { c.length, c.transfer, c.shape, c.only = absent, "chunked", shape, "go python ts ruby" })
	}
	for _, shape := range []string{"parsed", "text"} {
		add(empty, "JSON over HTTP/2, replayed over no body, as "+shape, false, func(c *call) { c.length, c.shape, c.only = absent, shape, "ts" })
	}
	return list
}

// callsIn returns the calls about which verify can decide in a language.
func callsIn(language string) []call {
	return slices.DeleteFunc(calls(time.Now()), func(one call) bool {
		return one.only != "" && !slices.Contains(strings.Fields(one.only), language)
	})
}

// In Go, the documentation calls the package, which decides as the snippets do.
func TestThePackageDecidesAsTheSnippetsOfTheDocumentation(t *testing.T) {
	for _, one := range callsIn("go") {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(one.body))
		for name, value := range map[string]string{webhook.HeaderID: one.id, webhook.HeaderTimestamp: one.stamp, webhook.HeaderSignature: one.signatures, "Content-Type": one.kind} {
			if value != absent {
				r.Header.Set(name, value)
			}
		}
		r.ContentLength, _ = strconv.ParseInt(one.length, 10, 64) // absent: 0
		if one.transfer != absent {
			r.ContentLength = -1 // as net/http shows chunks
		}
		if _, err := webhook.Read([]string{older}, r, webhook.Options{}); (err == nil) != one.trusted {
			t.Errorf("%s: %v", one.name, err)
		}
	}
}

// typesOf removes types. Some versions of Node cannot parse them, and this test
// does not check them.
var typesOf = strings.NewReplacer("import type { IncomingHttpHeaders } from \"node:http\";", "",
	": string", "", ": IncomingHttpHeaders", "", ": unknown", "", ": boolean", "")

// harnessed is a snippet with the program in testdata that calls it.
type harnessed struct {
	language string
	files    [2]string // the snippet's and the harness's
	edit     *strings.Replacer
	command  []string
}

// write writes both files to a new directory. It returns the directory and the
// path of the command. It skips the test if the command is missing.
func (h *harnessed) write(t *testing.T) (dir, path string) {
	t.Helper()
	path, err := exec.LookPath(h.command[0])
	if err != nil {
		t.Skipf("NOT TESTED: %s is not on this machine, so the snippet in %s of docs/webhooks.md is not verified here", h.command[0], h.language)
	}
	text := snippet(t, h.language)
	if h.edit != nil {
		text = h.edit.Replace(text)
	}
	harness, err := os.ReadFile(filepath.Join("testdata", h.files[1]+".txt"))
	fatal.If(t, err)
	if h.language == "java" { // java runs a single file by its first class
		harness, text = []byte(strings.Replace(text, "class Webhooks", string(harness)+"\nclass Webhooks", 1)), ""
	}
	dir = t.TempDir()
	write(t, dir, h.files[0], text)
	write(t, dir, h.files[1], string(harness))
	return dir, path
}

// TestTheSnippetsOfTheDocumentationWork runs each snippet with a harness in
// testdata. The harness reads callbacks from standard input, one per line, and
// writes true or false for each. The secret is its argument.
func TestTheSnippetsOfTheDocumentationWork(t *testing.T) {
	for _, c := range []harnessed{
		{"python", [2]string{"verify.py", "main.py"}, nil, []string{"python3", "main.py"}},
		{"ts", [2]string{"verify.mjs", "main.mjs"}, typesOf, []string{"node", "main.mjs"}},
		{"java", [2]string{"Webhooks.java", "Main.java"}, nil, []string{"java", "Main.java"}},
		{"ruby", [2]string{"verify.rb", "main.rb"}, nil, []string{"ruby", "main.rb"}},
		{"php", [2]string{"verify.php", "main.php"}, nil, []string{"php", "main.php"}},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			if c.language != "python" {
				quick.Leave(t, "starts a compiler")
			}
			dir, path := c.write(t)
			all := callsIn(c.language)
			var in, errs bytes.Buffer
			for _, one := range all {
				in.WriteString(one.line())
			}
			cmd := exec.CommandContext(t.Context(), path, append(c.command[1:], older)...)
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

// The shell's snippet signs the same bytes as Sign.
func TestTheShellSnippetOfTheDocumentationWorks(t *testing.T) {
	for _, tool := range []string{"sh", "openssl", "base64", "od"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not on this machine", tool)
		}
	}
	dir := t.TempDir()
	for i, body := range []string{"", `{"order":42}`, "\x00\xff\r\n"} {
		write(t, dir, "body", body)
		script := snippet(t, "sh") + `sign "$1" "$2" "$3" body`
		cmd := exec.CommandContext(t.Context(), "sh", "-c", script, "sh", older, "some-id", "1800000000")
		cmd.Dir = dir
		out, err := cmd.Output()
		want := sign([]string{older}, "some-id", time.Unix(1_800_000_000, 0), body)
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("body %d: %q, want %q (%v)", i, got, want, err)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	fatal.If(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
}
