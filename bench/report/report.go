package report

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/foliot/foliot/bench/measure"
	"github.com/foliot/foliot/bench/page"
	"github.com/foliot/foliot/bench/record"
)

//go:embed benchmarks.md.tmpl
var template string

// Write writes benchmarks.md and benchmarks/*.svg into dir. It returns their
// paths, the page first.
func Write(dir string, r *record.Run) ([]string, error) {
	v := newView(r)
	text, err := v.render()
	if err != nil {
		return nil, err
	}
	pictures := filepath.Join(dir, "benchmarks")
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the plots: %w", err)
	}
	paths := []string{filepath.Join(dir, "benchmarks.md")}
	files := map[string][]byte{paths[0]: text}
	for _, p := range v.plots() {
		path := filepath.Join(pictures, p.file)
		paths = append(paths, path)
		files[path] = p.svg
	}
	for path, content := range files {
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return nil, fmt.Errorf("write the report: %w", err)
		}
	}
	return paths, nil
}

func (v *view) render() ([]byte, error) { return page.Fill(template, v) }

// Plot returns the Markdown line of a picture, or nothing if the picture was
// not drawn.
func (v *view) Plot(file, what string) string {
	for _, p := range v.plots() {
		if p.file == file {
			return fmt.Sprintf("![%s](benchmarks/%s)\n", what, file)
		}
	}
	return ""
}

// ParallelSize is the number of standing timers in the measurements with
// several goroutines.
func (v *view) ParallelSize() string { return Number(v.parallelSize(measure.AddRemove)) }
