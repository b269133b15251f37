package prose

import (
	"io/fs"
	"path"
	"strings"
)

// Read returns the prose of all files below root. It skips directories that begin with a dot,
// testdata (it belongs to tests, as their strings do) and artefacts.
func Read(root fs.FS) (texts []Text, err error) {
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skips(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		more, err := readFile(root, name)
		texts = append(texts, more...)
		return err
	})
	return texts, err
}

func skips(dir string) bool {
	return dir != "." && (strings.HasPrefix(dir, ".") && dir != ".ci" || dir == "testdata" || dir == "bin" || dir == "node_modules" || dir == "foliot-data")
}

func readFile(root fs.FS, name string) ([]Text, error) {
	ext := path.Ext(name)
	_, commented := marker[ext]
	if _, named := marker[path.Base(name)]; !commented && !named && ext != ".go" && ext != ".md" && ext != ".json" {
		return nil, nil
	}
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	switch ext {
	case ".go":
		return Go(name, src)
	case ".md":
		return Markdown(name, src), nil
	}
	texts := Lines(name, src)
	if strings.HasPrefix(name, "docs/") {
		texts = append(texts, Captions(name, src)...)
	}
	return texts, nil
}
