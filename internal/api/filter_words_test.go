package api_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// A misspelled filter would silently match no task.
func TestAFilterAcceptsOnlyExistingWords(t *testing.T) {
	s := serve(t)
	reasons := words(t, `\bReason\w* += "(\w+)"`, "task", "webhook")
	// The names of actions are constants and results of methods.
	actions := words(t, `(?m)^(?:\tAction\w+ += |func \(\w+ \w+\) Action\(\) string \{ return |\t+return )"(\w+\.\w+)"`, "task", "settings", "store")
	actions = slices.DeleteFunc(actions, func(action string) bool {
		return slices.Contains([]string{"task.create", "task.replace", "task.purge", "schedule.check"}, action) // no person makes these one by one
	})
	for _, c := range []struct {
		target, name string
		words        []string
	}{
		{"GET /v1/tasks", "reason", reasons},
		{"POST /v1/tasks/retry", "reason", reasons},
		{"GET /v1/audit", "action", actions},
	} {
		method, path, _ := strings.Cut(c.target, " ")
		for _, word := range c.words {
			s.do(method, path+"?"+c.name+"="+word, "").want(200, nil)
		}
		for _, wrong := range []string{"", "typo", strings.ToUpper(c.words[0])} {
			p := s.do(method, path+"?"+c.name+"="+wrong, "").problem(400, "bad_parameter", c.name)
			for _, word := range c.words {
				if !strings.Contains(p.Detail, word) {
					t.Errorf("%s: detail %q is without %s", c.target, p.Detail, word)
				}
			}
			if n := strings.Count(p.Detail, ","); n != len(c.words)-1 {
				t.Errorf("%s: detail has %d words, the code has %d: %s", c.target, n+1, len(c.words), p.Detail)
			}
		}
	}
}

// words returns the words that a pattern finds in the shipped files of some
// packages.
func words(t *testing.T, pattern string, packages ...string) (list []string) {
	t.Helper()
	for _, folder := range packages {
		files, err := filepath.Glob("../" + folder + "/*.go")
		fatal.If(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			fatal.If(t, err)
			for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
				list = append(list, found[1])
			}
		}
	}
	slices.Sort(list)
	if list = slices.Compact(list); len(list) < 9 {
		t.Fatalf("found %v: check the search", list)
	}
	return list
}
