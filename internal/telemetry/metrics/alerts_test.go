package metrics

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// requirePromtool is the variable that turns a missing promtool into a failure
// instead of a skipped test. CI sets it.
const requirePromtool = "FOLIOT_REQUIRE_PROMTOOL"

var alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(docs + name)
	fatal.If(t, err)
	return string(data)
}

// alertRules returns the text of each rule by the name of its alert.
func alertRules(t *testing.T) map[string]string {
	t.Helper()
	text := readDocs(t, "grafana/alerts.yaml")
	starts := alertName.FindAllStringSubmatchIndex(text, -1)
	rules := map[string]string{}
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		rules[text[at[2]:at[3]]] = text[at[0]:end]
	}
	if len(rules) == 0 || len(rules) != strings.Count(text, "alert:") {
		t.Fatalf("%d rules were read, and the file has %d", len(rules), strings.Count(text, "alert:"))
	}
	return rules
}

func TestTheAlertsUseExposedMetricsOnly(t *testing.T) {
	checkQueries(t, "grafana/alerts.yaml", indented(readDocs(t, "grafana/alerts.yaml"), "expr: |"))
}

// findPromtool returns the path of promtool. It skips the test if there is no
// promtool.
func findPromtool(t *testing.T) string {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	switch {
	case err == nil:
	case os.Getenv(requirePromtool) != "":
		t.Fatalf("%s is set and there is no promtool: install it (Debian: apt-get install prometheus)", requirePromtool)
	default:
		t.Skip("there is no promtool: install it (Debian: apt-get install prometheus) and run this again")
	}
	return promtool
}

// Prometheus before 3.8 refuses a file with settings that it does not know.
func TestPrometheusAcceptsTheDocumentedConfiguration(t *testing.T) {
	promtool := findPromtool(t)
	block := regexp.MustCompile("(?s)\n   ```yaml\n(.*?)\n   ```").FindStringSubmatch(readDocs(t, "observability.md"))
	if block == nil || !strings.Contains(block[1], "scrape_configs:") || !strings.Contains(block[1], "rule_files:") {
		t.Fatalf("docs/observability.md has no configuration with rules: %q", block)
	}
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	fatal.If(t, os.WriteFile(file, []byte(block[1]), 0o600))
	if out, err := exec.Command(promtool, "check", "config", "--syntax-only", file).CombinedOutput(); err != nil { //nolint:gosec // the test's own arguments
		t.Errorf("promtool check config: %v\n%s", err, out)
	}
}

func TestTheAlertsFireAboveTheirThresholdsOnly(t *testing.T) {
	promtool := findPromtool(t)
	for _, words := range [][]string{
		{"check", "rules", docs + "grafana/alerts.yaml"},
		{"test", "rules", docs + "grafana/alerts_test.yaml"},
	} {
		if out, err := exec.Command(promtool, words...).CombinedOutput(); err != nil { //nolint:gosec // the test's own arguments
			t.Errorf("promtool %s: %v\n%s", strings.Join(words, " "), err, out)
		}
	}
}

func TestEachAlertIsInTheTestsOfThresholds(t *testing.T) {
	tests := readDocs(t, "grafana/alerts_test.yaml")
	for name := range alertRules(t) {
		if !strings.Contains(tests, `ALERTS{alertname="`+name+`", alertstate="firing"}`) {
			t.Errorf("grafana/alerts_test.yaml does not test %s", name)
		}
	}
}

// runbookURL is the address of the pages in docs/runbooks: a server has them.
const runbookURL = `'{{ with query "foliot:url" | sortByLabel "instance" }}{{ . | first | label "url" }}{{ end }}/docs/runbooks/`

// runbooks returns the texts of the pages in docs/runbooks by the names of their
// alerts.
func runbooks(t *testing.T) map[string]string {
	t.Helper()
	files, err := os.ReadDir(docs + "runbooks")
	fatal.If(t, err)
	pages := map[string]string{}
	for _, f := range files {
		if name, isPage := strings.CutSuffix(f.Name(), ".md"); isPage && name != "README" {
			pages[name] = readDocs(t, "runbooks/"+f.Name())
		}
	}
	return pages
}

func TestEachAlertHasARunbookAndEachRunbookAnAlert(t *testing.T) {
	pages, rules := runbooks(t), alertRules(t)
	index := readDocs(t, "runbooks/README.md")
	for name, rule := range rules {
		if !strings.Contains(rule, "runbook_url: "+runbookURL+name+"'\n") {
			t.Errorf("grafana/alerts.yaml: %s lacks the annotation runbook_url: %s%s'", name, runbookURL, name)
		}
		if pages[name] == "" {
			t.Errorf("docs/runbooks/%s.md is missing", name)
		}
		if !strings.Contains(index, "["+name+"]("+name+".md)") {
			t.Errorf("docs/runbooks/README.md does not link to %s", name)
		}
	}
	for name := range pages {
		if rules[name] == "" {
			t.Errorf("docs/runbooks/%s.md has no rule in grafana/alerts.yaml", name)
		}
	}
}

// inNamespace matches a command that acts in one namespace. Without a flag, an
// operator's token acts in the namespace default. A bare name, as in "do not
// run foliot cancel", is no such command.
var inNamespace = regexp.MustCompile("foliot (?:(?:get|cancel|retry|move) |ls\\b|(?:queue|cron|secret) (?:ls\\b|[a-z]+ ))[^`\n#|]*")

func TestTheCommandsOfTheRunbooksNameTheNamespace(t *testing.T) {
	pages, found := runbooks(t), 0
	for name, page := range pages {
		for _, command := range inNamespace.FindAllString(page, -1) {
			if found++; !strings.Contains(command, "--namespace ") {
				t.Errorf("%s: an operator's token sees only the namespace default with: %s", name, command)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d commands were found", found)
	}
}

func TestTheRunbooksNameExposedMetricsOnly(t *testing.T) {
	exposed := gather(t, full(t))
	for name, page := range runbooks(t) {
		for _, word := range metricWord.FindAllString(page, -1) {
			if exposed[word] == nil {
				t.Errorf("%s: %s is not exposed", name, word)
			}
		}
	}
}

// indented returns the indented blocks of YAML after lines that end in head.
func indented(text, head string) (blocks []string) {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasSuffix(line, head) {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " "))
		var b strings.Builder
		for _, next := range lines[i+1:] {
			if len(next)-len(strings.TrimLeft(next, " ")) <= depth {
				break
			}
			b.WriteString(strings.TrimSpace(next) + "\n")
		}
		blocks = append(blocks, b.String())
	}
	return blocks
}
