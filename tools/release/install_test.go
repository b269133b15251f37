package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheInstallPageNamesTheFilesOfARelease compares the table of
// docs/install.md with the names of the files. It compiles nothing, so it only
// computes the names of the packages and of the SBOM.
func TestTheInstallPageNamesTheFilesOfARelease(t *testing.T) {
	r := &release{source: repository, stage: t.TempDir(), out: t.TempDir(), version: "vVERSION", made: time.Unix(0, 0)}
	for _, name := range []string{"README.md", "CHANGELOG.md", licensesFile, "foliot.bash", "foliot.fish", "foliot.zsh", "foliot.1", "program"} {
		if err := r.write(name, nil); err != nil {
			t.Fatal(err)
		}
	}
	program, linux := filepath.Join(r.stage, "program"), platform{"linux", "PROCESSOR"}
	if err := errors.Join(r.archive(program, linux), r.archive(program, platform{"windows", "PROCESSOR"}), r.chart(true), r.sums()); err != nil {
		t.Fatal(err)
	}
	want := names(t, r.out)
	for _, ext := range []string{".cdx.json", ".deb", ".rpm"} {
		want = append(want, filepath.Base(r.file(linux, ext)))
	}
	_, table, _ := strings.Cut(string(read(t, repository, "docs", "install.md")), "\n| file | content |\n")
	table, rest, _ := strings.Cut(table, "\n\n")
	var got []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(table, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if strings.HasPrefix(name[1], ".") { // only another ending
				name[1] = filepath.Base(r.file(linux, name[1]))
			}
			got = append(got, name[1])
		}
	}
	if system := regexp.MustCompile("_(SYSTEM|linux|windows)_"); !slices.Equal(alike(system, got), alike(system, want)) {
		t.Errorf("the page names %q, and a release has %q", got, want)
	}
	if bundle := sumsFile + ".sigstore.json"; !strings.Contains(rest, "workflow adds `"+bundle+"`") || !strings.Contains(string(read(t, repository, ".github", "workflows", "release.yaml")), "--bundle dist/"+bundle) {
		t.Errorf("the page does not say that the workflow adds %s, or the workflow does not", bundle)
	}
}

// alike sorts names, with one word for each system and version.
func alike(system *regexp.Regexp, names []string) (all []string) {
	for _, name := range names {
		name = system.ReplaceAllString(name, "_SYSTEM_")
		all = append(all, regexp.MustCompile(`-[0-9.]+\.tgz$`).ReplaceAllString(name, "-VERSION.tgz"))
	}
	slices.Sort(all)
	return all
}
