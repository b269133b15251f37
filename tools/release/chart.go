package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// chartDir is the Helm chart, below the root of the repository.
const chartDir = "deploy/helm/foliot"

// chartVersion matches the version of a chart.
var chartVersion = regexp.MustCompile(`(?m)^version: (.+)$`)

// chart writes the archive of the Helm chart, under the name that Helm gives it.
// Its symbolic links become files.
func (r *release) chart(snapshot bool) error {
	root := filepath.Join(r.source, filepath.FromSlash(chartDir))
	metadata, err := os.ReadFile(filepath.Join(root, "Chart.yaml"))
	if err != nil {
		return err
	}
	found := chartVersion.FindSubmatch(metadata)
	if found == nil {
		return errors.New(chartDir + "/Chart.yaml has no version")
	}
	version := string(found[1])
	if want := strings.TrimPrefix(r.version, "v"); !snapshot && version != want {
		return fmt.Errorf("the chart has the version %s, and the release %s: add the release to CHANGELOG.md, and run make clients", version, want)
	}
	var entries []entry
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		entries = append(entries, entry{path, filepath.ToSlash(name), 0o644})
		return err
	})
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(r.out, "foliot-"+version+".tgz"))
	if err != nil {
		return err
	}
	return errors.Join(writeTar(f, "foliot", entries, r.made), f.Close())
}
