package prose

import (
	"io/fs"
	"path"
	"slices"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
)

// walkFiles calls f with each file below root that may have prose. It skips
// directories that begin with a dot, testdata (it belongs to tests, as their
// strings do) and artefacts.
func walkFiles(t *testing.T, root fs.FS, f func(name, src string)) {
	t.Helper()
	fatal.If(t, fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		base, ext := path.Base(name), path.Ext(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if name != "." && base[0] == '.' && base != ".ci" || slices.Contains([]string{"testdata", "bin", "node_modules", "foliot-data"}, base) {
				return fs.SkipDir
			}
		case slices.Contains([]string{".go", ".md", ".json"}, ext) || marker[ext]+marker[base] != "":
			src, err := fs.ReadFile(root, name)
			f(name, string(src))
			return err
		}
		return nil
	}))
}
