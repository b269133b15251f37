package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
)

var (
	// fence matches a block of code.
	fence = regexp.MustCompile("(?s)\n```(\\w*)\n(.*?)\n```")
	// folded matches the place where a command continues in the next line.
	folded = regexp.MustCompile(`\\\n +`)
	// changing matches a command that changes tasks or schedules.
	changing = regexp.MustCompile(`(?m)^(?:\$ )?(bin/foliot (?:add|move|cancel|touch|cron add|cron set|cron rm) .*|curl [^']*(?:'[^']*')?.*)$`)
)

// In the second round, the tasks of the first round are finished.
func TestTheDemosOfTheReadmeCanBeRunTwice(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	fatal.If(t, err)
	s := newSession(t)
	for round := range 2 {
		found := 0
		for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
			if block[1] != "" && block[1] != "sh" {
				continue
			}
			for _, command := range changing.FindAllStringSubmatch(folded.ReplaceAllString(block[2], " "), -1) {
				found++
				s.demo(round+1, endOfExample.ReplaceAllString(command[1], ""))
			}
		}
		if found < 6 {
			t.Errorf("only %d demos were found", found)
		}
		s.must("", "cancel --all --yes")
	}
}

// The README does not put foliot on the PATH, so it must call bin/foliot.
func TestTheReadmeCallsTheBinaryThatItBuilds(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	fatal.If(t, err)
	bare := regexp.MustCompile(`(?m)^(?:.*[$;|] ?)?foliot [a-z]+.*$`)
	for _, block := range fence.FindAllStringSubmatch(string(text), -1) {
		if line := bare.FindString(block[2]); line != "" && (block[1] == "" || block[1] == "sh") {
			t.Errorf("the README calls foliot, not bin/foliot: %s", line)
		}
	}
}

// Without these flags, the command makes a token of a namespace: an operator who
// has lost all tokens could still not manage the server.
func TestThePagesMakeAnOperatorsTokenInADataDirectory(t *testing.T) {
	command, found := regexp.MustCompile("token create --data [^`\n]*"), 0
	pages, err := filepath.Glob("../../docs/*.md")
	fatal.If(t, err)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		fatal.If(t, err)
		for _, line := range command.FindAllString(string(text), -1) {
			if found++; !strings.Contains(line, "--for operator --scope admin") {
				t.Errorf("%s: foliot %s", page, line)
			}
		}
	}
	if found == 0 {
		t.Error("no page has the command")
	}
}

// demo runs a command of the README.
func (s *session) demo(round int, line string) {
	s.t.Helper()
	words := s.words(line)
	if words[0] == "bin/foliot" {
		if _, stderr, code := s.run("", words[1:]...); code != exit.OK {
			s.t.Errorf("round %d: %s ended with %d: %s", round, line, code, stderr)
		}
		return
	}
	method, body, url := http.MethodPost, "", words[len(words)-1]
	for i, w := range words {
		switch w {
		case "-X":
			method = words[i+1]
		case "--json":
			body = words[i+1]
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, strings.Replace(url, "http://127.0.0.1:8750", s.server, 1), strings.NewReader(body))
	fatal.If(s.t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	fatal.If(s.t, err)
	resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		s.t.Errorf("round %d: %s: the reply is %s", round, line, resp.Status)
	}
}
