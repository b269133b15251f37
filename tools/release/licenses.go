package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licensesFile has the licenses of all code in the binary that is not of this
// repository.
const licensesFile = "THIRD_PARTY_LICENSES"

// licenses writes licensesFile for one platform: binaries of different platforms
// link different modules.
func (r *release) licenses(ctx context.Context, p platform) error {
	format := "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}"
	cmd := r.goTool(ctx, p, "list", "-deps", "-f", format, "./cmd/foliot")
	list, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	root, err := r.goTool(ctx, p, "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	texts := map[string][]string{"Go standard library": {filepath.Join(strings.TrimSpace(string(root)), "LICENSE")}}
	for line := range strings.Lines(string(list)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		if len(fields) != 3 {
			continue // a package of this module, or of the standard library
		}
		texts[fields[0]] = append(texts[fields[0]], licensesAbove(fields[2], fields[1])...)
	}
	page, err := filepath.Glob(filepath.Join(r.source, "internal", "page", "third_party", "*", "LICENSE"))
	if err != nil {
		return err
	}
	for _, file := range page {
		texts["web page: "+filepath.Base(filepath.Dir(file))] = []string{file}
	}
	text, err := joinLicenses(texts)
	if err != nil {
		return err
	}
	return r.write(licensesFile, text)
}

// licensesAbove returns the files with licenses and notices in a directory of a
// package, and in each directory above it up to that of the module.
func licensesAbove(dir, module string) (files []string) {
	for {
		entries, _ := os.ReadDir(dir) // joinLicenses reports a module without files
		for _, e := range entries {
			name := strings.ToUpper(e.Name())
			for _, start := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
				if strings.HasPrefix(name, start) && e.Type().IsRegular() && !strings.HasSuffix(name, ".GO") {
					files = append(files, filepath.Join(dir, e.Name()))
				}
			}
		}
		if dir == module || len(dir) <= len(module) {
			return files
		}
		dir = filepath.Dir(dir)
	}
}

// joinLicenses returns the contents of the files, sorted by their owners.
func joinLicenses(texts map[string][]string) ([]byte, error) {
	owners := make([]string, 0, len(texts))
	for owner := range texts {
		owners = append(owners, owner)
	}
	slices.Sort(owners)
	var out bytes.Buffer
	for _, owner := range owners {
		files := texts[owner]
		slices.Sort(files)
		files = slices.Compact(files)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no license file, so its code must not be distributed: replace the module, or add its license to licenses.go", owner)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&out, "%s\n%s: %s\n\n%s\n\n", strings.Repeat("=", 80), owner, filepath.Base(file), bytes.TrimSpace(text))
		}
	}
	return out.Bytes(), nil
}
