package fileaccess

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/foliot/foliot/internal/usage"
)

// Replace writes a temporary file in the same directory, with mode 0600, and
// renames it to path when it is complete and synced. So an incomplete file never
// has the name of a complete one.
func Replace(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*.part")
	switch failed := (*fs.PathError)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return usage.Errorf("", "the directory %s does not exist", dir)
	case errors.As(err, &failed):
		return usage.Errorf("", "cannot create a file in the directory %s: %v", dir, failed.Err)
	case err != nil:
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // return the first error
	}
	return err
}
