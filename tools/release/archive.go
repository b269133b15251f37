package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// entry is a file of an archive or of a package.
type entry struct {
	from string // path on this machine
	to   string
	mode os.FileMode
}

// archive writes the archive of one platform. All files are in one folder that
// has the name of the archive.
func (r *release) archive(binary string, p platform) error {
	name := r.file(p, ".tar.gz")
	write := writeTar
	if p.os == "windows" {
		name, write = r.file(p, ".zip"), writeZip
	}
	folder := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".tar.gz"), ".zip")
	entries := []entry{
		{binary, p.binary(), 0o755},
		{filepath.Join(r.source, "README.md"), "README.md", 0o644},
		{filepath.Join(r.source, "CHANGELOG.md"), "CHANGELOG.md", 0o644},
		{filepath.Join(r.source, "LICENSE"), "LICENSE", 0o644},
		{filepath.Join(r.stage, licensesFile), licensesFile, 0o644},
		{filepath.Join(r.stage, "foliot.bash"), "completions/foliot.bash", 0o644},
		{filepath.Join(r.stage, "foliot.fish"), "completions/foliot.fish", 0o644},
		{filepath.Join(r.stage, "foliot.zsh"), "completions/_foliot", 0o644},
		{filepath.Join(r.stage, "foliot.1"), "man/foliot.1", 0o644},
	}
	if p.os == "linux" {
		entries = append(entries,
			entry{filepath.Join(r.source, "packaging", "foliot.service"), "systemd/foliot.service", 0o644},
			entry{filepath.Join(r.source, "packaging", "foliot.sysusers"), "systemd/foliot.sysusers", 0o644},
		)
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(f, folder, entries, r.made), f.Close())
}

func writeTar(w io.Writer, folder string, entries []entry, made time.Time) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	out := tar.NewWriter(zipped)
	for _, e := range entries {
		content, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: folder + "/" + e.to, Mode: int64(e.mode), Size: int64(len(content)), ModTime: made, Format: tar.FormatUSTAR}
		if err := out.WriteHeader(head); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zipped.Close())
}

func writeZip(w io.Writer, folder string, entries []entry, made time.Time) error {
	out := zip.NewWriter(w)
	for _, e := range entries {
		content, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		head := &zip.FileHeader{Name: folder + "/" + e.to, Method: zip.Deflate, Modified: made}
		head.SetMode(e.mode)
		file, err := out.CreateHeader(head)
		if err != nil {
			return err
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}
