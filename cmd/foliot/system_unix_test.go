//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// A directory that somebody else made, as a container's volume is, may stand open.
func TestNobodyElseReadsTheFilesOfAServer(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	p := serveProcess(t, "--listen", anyPort, "--data", dir)
	if out, errs, code := p.foliot("secret", "create"); code != exitOK {
		t.Fatalf("%q%q", out, errs)
	}
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
}
