package prose

import (
	"io/fs"
	"path"
	"strings"
)

// Tree is the prose of a repository and the names in it.
type Tree struct {
	Texts []Text
	Names []Name
	Dirs  map[string]bool // that have Go files, or directories with Go files
}

// Read reads all files below root. It skips directories that begin with a dot,
// testdata (it belongs to tests, as their strings do) and artefacts.
func Read(root fs.FS) (Tree, error) {
	tree := Tree{Dirs: map[string]bool{}}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skips(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		return tree.read(root, name)
	})
	return tree, err
}

func skips(dir string) bool {
	return dir != "." && (strings.HasPrefix(dir, ".") && dir != ".ci" || dir == "testdata" || dir == "bin" || dir == "node_modules" || dir == "foliot-data")
}

func (t *Tree) read(root fs.FS, name string) error {
	ext := path.Ext(name)
	_, commented := marker[ext]
	if _, named := marker[path.Base(name)]; !commented && !named && ext != ".go" && ext != ".md" && ext != ".json" {
		return nil
	}
	src, err := fs.ReadFile(root, name)
	if err != nil {
		return err
	}
	switch ext {
	case ".go":
		texts, names, err := Go(name, src)
		if err != nil {
			return err
		}
		t.Texts, t.Names = append(t.Texts, texts...), append(t.Names, names...)
		for dir := path.Dir(name); !t.Dirs[dir]; dir = path.Dir(dir) {
			t.Dirs[dir] = true
		}
	case ".md":
		t.Texts = append(t.Texts, Markdown(name, src)...)
	default:
		t.Texts = append(t.Texts, Lines(name, src)...)
		if strings.HasPrefix(name, "docs/") {
			t.Texts = append(t.Texts, Captions(name, src)...)
		}
	}
	return nil
}
