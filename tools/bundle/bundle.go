package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// libraries are the modules that the source imports, and their files.
var libraries = map[string]string{
	"preact":               "preact/preact.mjs",
	"preact/hooks":         "preact/hooks.mjs",
	"preact/jsx-runtime":   "preact/jsx-runtime.mjs",
	"@preact/signals":      "signals/signals.mjs",
	"@preact/signals-core": "signals-core/signals-core.mjs",
}

// bundle returns the files of the page by their names. A name has a hash of the
// content, except that of index.html.
func bundle(root string) (map[string][]byte, error) {
	dir, err := filepath.Abs(filepath.Join(root, pageDir))
	if err != nil {
		return nil, err
	}
	alias := map[string]string{}
	for name, file := range libraries {
		alias[name] = filepath.Join(dir, "third_party", filepath.FromSlash(file))
	}
	built := api.Build(api.BuildOptions{
		AbsWorkingDir: dir, EntryPoints: []string{"src/main.tsx"}, Outdir: "dist", Alias: alias,
		EntryNames: "[name]-[hash]", ChunkNames: "[name]-[hash]",
		Bundle: true, Splitting: true, Format: api.FormatESModule, Target: api.ES2022,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", TsconfigRaw: "{}",
		LegalComments: api.LegalCommentsNone, Charset: api.CharsetUTF8, LogLevel: api.LogLevelSilent, Metafile: true,
	})
	if len(built.Errors) > 0 {
		return nil, errors.New(strings.Join(api.FormatMessages(built.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage}), "\n"))
	}
	files := map[string][]byte{}
	entry := map[string]string{} // by extension
	imports, err := staticImports(built.Metafile)
	if err != nil {
		return nil, err
	}
	for _, f := range built.OutputFiles {
		name := filepath.Base(f.Path)
		files[name] = f.Contents
		if strings.HasPrefix(name, "main-") {
			entry[path.Ext(name)] = name
		}
	}
	index, err := os.ReadFile(filepath.Join(dir, "src", "index.html"))
	if err != nil {
		return nil, err
	}
	for ext, mark := range map[string]string{".js": "main.js", ".css": "main.css"} {
		if !bytes.Contains(index, []byte(mark)) || entry[ext] == "" {
			return nil, fmt.Errorf("index.html or the bundle has no %s", mark)
		}
		index = bytes.ReplaceAll(index, []byte(mark), []byte(entry[ext]))
	}
	// The browser loads the imports together with the entry, not after it.
	var preload strings.Builder
	for _, name := range imports {
		fmt.Fprintf(&preload, "<link rel=\"modulepreload\" href=\"%s\">\n", name)
	}
	files["index.html"] = bytes.Replace(index, []byte("</head>"), []byte(preload.String()+"</head>"), 1)
	return files, nil
}

// staticImports returns the files that main imports before it runs.
func staticImports(metafile string) ([]string, error) {
	var meta struct {
		Outputs map[string]struct {
			EntryPoint string
			Imports    []struct{ Path, Kind string }
		}
	}
	if err := json.Unmarshal([]byte(metafile), &meta); err != nil {
		return nil, err
	}
	var names []string
	for _, out := range meta.Outputs {
		if out.EntryPoint != "src/main.tsx" {
			continue
		}
		for _, i := range out.Imports {
			if i.Kind == "import-statement" {
				names = append(names, path.Base(i.Path))
			}
		}
	}
	slices.Sort(names)
	return names, nil
}
