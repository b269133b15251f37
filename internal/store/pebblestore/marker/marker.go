// Package marker recognises the directory of a store, without the store.
package marker

import (
	"errors"
	"os"
	"path/filepath"
)

// File is the name of the file that marks the directory of a store.
const File = "FOLIOT"

// ErrForeign means that a directory contains files of another program.
var ErrForeign = errors.New("this is not a foliot data directory")

// Marked reports whether dir is a data directory, of any version.
func Marked(dir string) bool {
	_, err := os.Stat(Of(dir))
	return err == nil
}

// Of returns the path of the marker of a store in dir.
func Of(dir string) string { return filepath.Join(dir, File) }
