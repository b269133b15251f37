package metrics

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/foliot/foliot/internal/fatal"
)

var update = flag.Bool("update", os.Getenv("UPDATE_GOLDEN") != "", "rewrite the table in docs/observability.md")

const (
	docs       = "../../../docs/"
	tableBegin = "<!-- metrics: begin; written by make golden -->\n"
	tableEnd   = "<!-- metrics: end -->"
)

// families returns our metrics, in the order of their names.
func families(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	var ours []*dto.MetricFamily
	for name, f := range gather(t, full(t)) {
		if strings.HasPrefix(name, "foliot_") {
			ours = append(ours, f)
		}
	}
	slices.SortFunc(ours, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return ours
}

func labelsOf(f *dto.MetricFamily) (names []string) {
	for _, l := range f.GetMetric()[0].GetLabel() {
		names = append(names, l.GetName())
	}
	return names
}

func TestTheDocumentedTableIsExposed(t *testing.T) {
	var b strings.Builder
	b.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	for _, f := range families(t) {
		kind := strings.ToLower(f.GetType().String())
		if h := f.GetMetric()[0].GetHistogram(); h != nil && h.Schema != nil {
			kind = "native histogram"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.GetName(), kind, strings.Join(labelsOf(f), ", "), f.GetHelp())
	}
	page, err := os.ReadFile(docs + "observability.md")
	fatal.If(t, err)
	before, rest, found := strings.Cut(string(page), tableBegin)
	table, after, ends := strings.Cut(rest, tableEnd)
	if !found || !ends {
		t.Fatalf("docs/observability.md has no place for the table: %q … %q", tableBegin, tableEnd)
	}
	if *update {
		fatal.If(t, os.WriteFile(docs+"observability.md", []byte(before+tableBegin+b.String()+tableEnd+after), 0o644))
		return
	}
	if table != b.String() {
		t.Errorf("the metrics are not those of docs/observability.md. If that is meant, run `make golden PKG=./internal/telemetry/metrics`, and say so in the change log: dashboards break.\nhave:\n%s\nwant:\n%s", b.String(), table)
	}
}

func TestNamesAndHelpsPassPrometheusOwnLinter(t *testing.T) {
	problems, err := promlint.NewWithMetricFamilies(families(t)).Lint()
	fatal.If(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// metricWord matches names of metrics in PromQL: ours, those of the runtime and
// of the process.
var metricWord = regexp.MustCompile(`\b(foliot|go|process)_[a-z0-9_]+\b`)

// checkQueries reports each metric and label of an expression that is not
// exposed.
func checkQueries(t *testing.T, where string, exprs []string) {
	t.Helper()
	exposed := gather(t, full(t))
	if len(exprs) == 0 {
		t.Errorf("%s: no expression was found", where)
	}
	for _, expr := range exprs {
		words := metricWord.FindAllString(expr, -1)
		if len(words) == 0 {
			t.Errorf("%s: no metric in %q", where, expr)
		}
		labels := map[string]bool{"le": true, "job": true, "instance": true}
		for _, word := range words {
			f := exposed[word]
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				if base, cut := strings.CutSuffix(word, suffix); f == nil && cut && exposed[base].GetType() == dto.MetricType_HISTOGRAM {
					f = exposed[base]
				}
			}
			if f == nil {
				t.Errorf("%s: %s is not exposed; in %q", where, word, expr)
				continue
			}
			for _, l := range labelsOf(f) {
				labels[l] = true
			}
		}
		for _, name := range labelsIn(expr) {
			if !labels[name] {
				t.Errorf("%s: none of the metrics has the label %s; in %q", where, name, expr)
			}
		}
	}
}

var (
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring)\s*\(([^)]*)\)`)
	matcher  = regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)\s*"`)
)

// labelsIn returns the labels by which an expression groups or selects.
func labelsIn(expr string) (names []string) {
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for name := range strings.SplitSeq(m[1], ",") {
			if name = strings.TrimSpace(name); name != "" {
				names = append(names, name)
			}
		}
	}
	for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestTheDashboardUsesExposedMetricsOnly(t *testing.T) {
	data, err := os.ReadFile(docs + "grafana/foliot.json")
	fatal.If(t, err)
	var board any
	fatal.If(t, json.Unmarshal(data, &board))
	checkQueries(t, "grafana/foliot.json", append(texts(board, "expr"), texts(board, "definition")...))
}

// texts returns all strings under a key in a JSON value, at any depth.
func texts(v any, key string) (found []string) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			found = append(found, texts(inner, key)...)
		}
	case map[string]any:
		for k, inner := range v {
			if s, ok := inner.(string); ok && k == key {
				found = append(found, s)
			}
			found = append(found, texts(inner, key)...)
		}
	}
	return found
}

func TestThePageUsesExposedMetricsOnly(t *testing.T) {
	page, err := os.ReadFile(docs + "observability.md")
	fatal.If(t, err)
	var exprs []string
	for _, block := range strings.Split(string(page), "```promql\n")[1:] {
		expr, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(expr) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				exprs = append(exprs, line)
			}
		}
	}
	checkQueries(t, "observability.md", exprs)
}
