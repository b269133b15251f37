package prose

import (
	"io/fs"
	"path"
	"testing"
)

// walkFiles calls f with each Go file and page below root.
func walkFiles(t *testing.T, root fs.FS, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && skips(entry.Name()):
			return fs.SkipDir
		case path.Ext(name) == ".go" || path.Ext(name) == ".md":
			text, err := fs.ReadFile(root, name)
			f(name, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
