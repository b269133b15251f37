package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/foliot/foliot/internal/usage"
)

// maxFile bounds the bytes of a file. A larger file was probably named by
// mistake.
const maxFile = 32 << 20

// Read returns the objects of the files, in the order in which they are
// created. A path is a file, a directory with files *.yaml and *.yml, or "-"
// for stdin. Objects without a field namespace are in the given namespace.
// Errors name the file and the line; all invalid fields are reported at once.
func Read(paths []string, stdin io.Reader, namespace string) ([]Object, error) {
	var objects []Object
	var errs []error
	for _, path := range paths {
		files, err := filesOf(path, paths)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := usage.ReadFile(file, stdin, maxFile, ": split it into several files")
			if err != nil {
				return nil, err
			}
			found, err := decodeFile(usage.FileName(file), data, namespace)
			if err == nil && len(found) == 0 {
				err = usage.Errorf("", "%s has no objects: delete the file, or do not pass it", usage.FileName(file))
			}
			objects, errs = append(objects, found...), append(errs, err)
		}
	}
	errs = append(errs, refuseDuplicates(objects)...)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(objects, func(a, b Object) int { return a.Compare(b.Key) })
	return objects, check(objects)
}

// filesOf returns the files that a path names, in the order of their names. all
// are the paths of the command line.
func filesOf(path string, all []string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, usage.AboutFile(path, err)
	case !info.IsDir():
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, usage.AboutFile(path, err)
	}
	var files []string
	for _, entry := range entries {
		inside := filepath.Join(path, entry.Name())
		if info, err := os.Stat(inside); err == nil && info.IsDir() {
			if err := refuseIgnored(inside, all); err != nil {
				return nil, err
			}
		} else if isYAML(inside) {
			files = append(files, inside)
		}
	}
	if files == nil {
		return nil, usage.Errorf("", "the directory %s has no file *.yaml or *.yml", path)
	}
	return files, nil
}

func isYAML(path string) bool { return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) }

// refuseIgnored returns an error if a subdirectory has files in YAML and is not
// one of the paths: a file that was moved there would count as deleted.
func refuseIgnored(dir string, paths []string) error {
	given := func(path string) bool {
		return slices.ContainsFunc(paths, func(other string) bool { return filepath.Clean(other) == filepath.Clean(path) })
	}
	dir += string(filepath.Separator) // also if it is a link
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return usage.AboutFile(path, err)
		case entry.IsDir() && (given(path) || strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case !entry.IsDir() && isYAML(path):
			return usage.Errorf("", "%s is in a subdirectory, which is not read: pass %s with its own --file, or move the file", path, filepath.Dir(path))
		}
		return nil
	})
}

func decodeFile(file string, data []byte, namespace string) (objects []Object, err error) {
	var errs []error
	for documents := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var doc yaml.Node
		switch err := documents.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return objects, errors.Join(errs...)
		case err != nil:
			return objects, errors.Join(append(errs, syntaxError(file, err))...)
		}
		root := doc.Content[0]
		if root.Kind == yaml.ScalarNode && root.Tag == "!!null" { // a document with comments only
			continue
		}
		o, failed := decodeObject(file, root, namespace)
		errs = append(errs, failed...)
		if len(failed) == 0 {
			objects = append(objects, o)
		}
	}
}

var lineOfSyntax = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// syntaxError returns an error of the YAML library with the name of the file in
// place of the library's.
func syntaxError(file string, err error) error {
	text := err.Error()
	if strings.HasPrefix(text, "yaml: unknown anchor ") { // it has the value, which can be a secret
		text = "yaml: a value that begins with * must be in quotes"
	}
	m := lineOfSyntax.FindStringSubmatch(text)
	if m == nil {
		return usage.Errorf(file, "%s", text)
	}
	if m[1] != "" {
		file += ":" + m[1]
	}
	return usage.Errorf(file, "%s", strings.TrimPrefix(text, m[0]))
}

// refuseDuplicates returns an error for each object that another one already
// describes.
func refuseDuplicates(objects []Object) (errs []error) {
	first := map[Key]*Object{}
	for i := range objects {
		o := &objects[i]
		if before := first[o.Key]; before != nil {
			errs = append(errs, usage.Errorf(o.Place(""), "%s is already described at %s: keep one of them", o.Key, before.Place("")))
			continue
		}
		first[o.Key] = o
	}
	return errs
}

// fileError returns an error about a line of a file.
func fileError(file string, line int, format string, args ...any) error {
	return usage.Errorf(fmt.Sprintf("%s:%d", file, line), format, args...)
}
