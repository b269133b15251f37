package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestTheClientPackagesAgreeWithTheDocumentAndTheRelease(t *testing.T) {
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, fresh := range files {
		committed, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(committed, fresh) {
			t.Errorf("%s differs from a fresh generation: run make clients", name)
		}
	}
}

func TestTheVersionIsThatOfTheLatestRelease(t *testing.T) {
	for changelog, want := range map[string]string{
		"# Changelog\n\n## [Unreleased]\n\n### Added\n":                           "0.0.0",
		"## [Unreleased]\n\n## [1.2.0] - 2026-12-01\n\n## [1.1.9] - 2026-11-01\n": "1.2.0",
		"## [2.0.0-rc.1] - 2026-12-01\n":                                          "2.0.0-rc.1",
	} {
		if got := release([]byte(changelog)); got != want {
			t.Errorf("%q: version %s, want %s", changelog, got, want)
		}
	}
}

func TestAFileWithoutItsVersionIsRefused(t *testing.T) {
	if _, err := withVersion([]byte(`{"name": "x"}`), packageVersion, 1, "1.0.0"); err == nil {
		t.Error("no error")
	}
	if _, err := withVersion([]byte("version: 0.0.0\n"), chartVersion, 2, "1.0.0"); err == nil {
		t.Error("no error")
	}
	got, err := withVersion([]byte("{\n  \"version\": \"0.0.0\",\n"), packageVersion, 1, "1.0.0")
	if err != nil || !strings.Contains(string(got), `"version": "1.0.0",`) {
		t.Errorf("%s, %v", got, err)
	}
	got, err = withVersion([]byte("apiVersion: v2\nversion: 0.0.0\nappVersion: 0.0.0\n"), chartVersion, 2, "1.0.0")
	if err != nil || string(got) != "apiVersion: v2\nversion: 1.0.0\nappVersion: 1.0.0\n" {
		t.Errorf("%s, %v", got, err)
	}
}
