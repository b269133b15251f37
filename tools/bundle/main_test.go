package main

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const root = "../.."

func TestTheCommittedPageIsTheBundleOfItsSource(t *testing.T) {
	source, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	committed, err := os.ReadFile(filepath.Join(root, generatedFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(source, committed) {
		t.Errorf("%s does not agree with the OpenAPI document: run make page", generatedFile)
	}
	files, err := bundle(root)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(root, pageDir, "dist"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if fresh := slices.Sorted(maps.Keys(files)); !slices.Equal(names, fresh) {
		t.Fatalf("the committed files are %q, a bundle has %q: run make page", names, fresh)
	}
	for name, content := range files {
		committed, err := os.ReadFile(filepath.Join(root, pageDir, "dist", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content, committed) {
			t.Errorf("%s differs from a fresh bundle: run make page", name)
		}
	}
}
