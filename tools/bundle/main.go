package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/foliot/foliot/tools/openapi"
)

// pageDir is the folder of the page, as seen from the root of the repository.
const pageDir = "internal/page"

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	if err := run(root); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// run writes the generated source and the bundle.
func run(root string) error {
	source, err := generate(root)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, generatedFile), source, 0o644); err != nil {
		return err
	}
	files, err := bundle(root)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, pageDir, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dist, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the generated source of the page.
func generate(root string) ([]byte, error) {
	document, err := os.ReadFile(filepath.Join(root, openapi.File))
	if err != nil {
		return nil, err
	}
	return typescript(document)
}
