package metrics

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// requirePromtool is the variable that turns a missing promtool into a failure
// instead of a skipped test. CI sets it.
const requirePromtool = "FOLIOT_REQUIRE_PROMTOOL"

var alertName = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)

func readDocs(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(docs + name)
	if err != nil {
		t.Fatal(err)
	}
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

func TestTheAlertsFireAboveTheirThresholdsOnly(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	switch {
	case err == nil:
	case os.Getenv(requirePromtool) != "":
		t.Fatalf("%s is set and there is no promtool: install it (Debian: apt-get install prometheus)", requirePromtool)
	default:
		t.Skip("there is no promtool: install it (Debian: apt-get install prometheus) and run this again")
	}
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
