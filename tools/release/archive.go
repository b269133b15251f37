package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
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
		{filepath.Join(r.stage, "README.md"), "README.md", 0o644},
		{filepath.Join(r.stage, "CHANGELOG.md"), "CHANGELOG.md", 0o644},
		{filepath.Join(r.source, "LICENSE"), "LICENSE", 0o644},
		{filepath.Join(r.stage, licensesFile), licensesFile, 0o644},
		{filepath.Join(r.stage, "foliot.bash"), "completions/foliot.bash", 0o644},
		{filepath.Join(r.stage, "foliot.fish"), "completions/foliot.fish", 0o644},
		{filepath.Join(r.stage, "foliot.zsh"), "completions/_foliot", 0o644},
		{filepath.Join(r.stage, "foliot.1"), "man/foliot.1", 0o644},
	}
	entries = append(entries, r.grafana("grafana/")...)
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

// grafana returns the alert rules, their tests and the dashboard, in a folder.
func (r *release) grafana(folder string) (entries []entry) {
	for _, name := range []string{"alerts.yaml", "alerts_test.yaml", "foliot.json"} {
		entries = append(entries, entry{filepath.Join(r.source, "docs", "grafana", name), folder + name, 0o644})
	}
	return entries
}

// relativeLink matches the target of a link to another file of the repository.
var relativeLink = regexp.MustCompile(`\]\(([^)#:][^):]*)\)`)

// pages writes the Markdown files with absolute links, because archives and
// packages do not contain the other pages.
func (r *release) pages() error {
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		text = relativeLink.ReplaceAll(text, []byte("](https://github.com/foliot/foliot/blob/"+r.commit+"/$1)"))
		if err := r.write(name, text); err != nil {
			return err
		}
	}
	return nil
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
