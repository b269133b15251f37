package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

const (
	maintainer  = "The Foliot authors <foliot@users.noreply.github.com>"
	summary     = "durable timers: call a URL at a given time"
	description = `Foliot calls a URL at a given time, at least once, and retries failed calls.
It keeps its tasks in a directory or in Redis, and loses no task that it has
confirmed to disk. It has an HTTP API, a command line and a web page.`
)

// packages writes the deb and the rpm of one platform.
func (r *release) packages(binary string, p platform) error {
	if err := r.packageDocs(); err != nil {
		return err
	}
	return errors.Join(r.pack(p, "deb", r.deb(binary)), r.pack(p, "rpm", r.rpm(binary)))
}

// packageDocs writes the files that both formats contain, compressed as Debian
// wants them.
func (r *release) packageDocs() error {
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return err
	}
	copyright, err := r.copyright(string(license))
	if err != nil {
		return err
	}
	if err := errors.Join(r.write("copyright", copyright), r.write("changelog", r.debianChangelog())); err != nil {
		return err
	}
	for _, name := range []string{"changelog", "CHANGELOG.md", "foliot.1", licensesFile} {
		text, err := os.ReadFile(filepath.Join(r.stage, name))
		if err != nil {
			return err
		}
		if err := r.writeGzip(name+".gz", text); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) writeGzip(name string, text []byte) error {
	var out bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := zipped.Write(text); err != nil {
		return err
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	return r.write(name, out.Bytes())
}

// copyright returns LICENSE in the machine-readable form of Debian.
func (r *release) copyright(license string) ([]byte, error) {
	head, err := os.ReadFile(filepath.Join(r.source, "packaging", "deb", "copyright.head"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.Write(head)
	_, rest, _ := strings.Cut(license, "\n\n") // the first line is the name
	owner, terms, found := strings.Cut(rest, "\n\n")
	if owner, found = strings.CutPrefix(owner, "Copyright (c) "); !found {
		return nil, errors.New("the third line of LICENSE is not the copyright")
	}
	fmt.Fprintf(&out, "Copyright: %s\nLicense: Expat\n", owner)
	for line := range strings.Lines(strings.TrimSpace(terms) + "\n") {
		if line == "\n" {
			line = ".\n"
		}
		out.WriteString(" " + line)
	}
	return out.Bytes(), nil
}

// debianChangelog returns an entry for this version. The changes themselves are
// in CHANGELOG.md.
func (r *release) debianChangelog() []byte {
	return fmt.Appendf(nil, "foliot (%s) stable; urgency=medium\n\n  * The changes are in /usr/share/doc/foliot/CHANGELOG.md.gz.\n\n -- %s  %s\n",
		r.packageVersion(), maintainer, r.made.Format(time.RFC1123Z))
}

// packageVersion returns the version in a form that both formats accept and
// sort: 1.2.3~rc.1 is before 1.2.3. A minus has a meaning of its own in both.
func (r *release) packageVersion() string {
	version, before, isPrerelease := strings.Cut(strings.TrimPrefix(r.version, "v"), "-")
	if !isPrerelease {
		return version
	}
	return version + "~" + strings.ReplaceAll(before, "-", ".")
}

// common returns the files of both formats.
func (r *release) common(binary string) []entry {
	return append(r.grafana("/usr/share/doc/foliot/grafana/"), []entry{
		{binary, "/usr/bin/foliot", 0o755},
		{filepath.Join(r.source, "packaging", "foliot.service"), "/usr/lib/systemd/system/foliot.service", 0o644},
		{filepath.Join(r.source, "packaging", "foliot.sysusers"), "/usr/lib/sysusers.d/foliot.conf", 0o644},
		{filepath.Join(r.stage, "foliot.1.gz"), "/usr/share/man/man1/foliot.1.gz", 0o644},
		{filepath.Join(r.stage, "foliot.bash"), "/usr/share/bash-completion/completions/foliot", 0o644},
		{filepath.Join(r.stage, "foliot.fish"), "/usr/share/fish/vendor_completions.d/foliot.fish", 0o644},
		{filepath.Join(r.stage, "CHANGELOG.md.gz"), "/usr/share/doc/foliot/CHANGELOG.md.gz", 0o644},
		{filepath.Join(r.stage, licensesFile+".gz"), "/usr/share/doc/foliot/" + licensesFile + ".gz", 0o644},
	}...)
}

func (r *release) deb(binary string) nfpm.Overridables {
	scripts := filepath.Join(r.source, "packaging", "deb")
	entries := append(r.common(binary),
		entry{filepath.Join(r.stage, "foliot.zsh"), "/usr/share/zsh/vendor-completions/_foliot", 0o644},
		entry{filepath.Join(r.stage, "changelog.gz"), "/usr/share/doc/foliot/changelog.gz", 0o644},
		entry{filepath.Join(r.stage, "copyright"), "/usr/share/doc/foliot/copyright", 0o644},
		entry{filepath.Join(scripts, "README.Debian"), "/usr/share/doc/foliot/README.Debian", 0o644},
		entry{filepath.Join(scripts, "lintian-overrides"), "/usr/share/lintian/overrides/foliot", 0o644},
	)
	return nfpm.Overridables{
		Contents: r.contents(entries, "root"), // postinst sets the group
		Depends:  []string{"systemd | systemd-standalone-sysusers | systemd-sysusers"},
		Scripts: nfpm.Scripts{
			PostInstall: filepath.Join(scripts, "postinst"),
			PreRemove:   filepath.Join(scripts, "prerm"),
			PostRemove:  filepath.Join(scripts, "postrm"),
		},
		Deb: nfpm.Deb{Compression: "xz"},
	}
}

func (r *release) rpm(binary string) nfpm.Overridables {
	scripts := filepath.Join(r.source, "packaging", "rpm")
	entries := append(r.common(binary),
		entry{filepath.Join(r.stage, "foliot.zsh"), "/usr/share/zsh/site-functions/_foliot", 0o644},
		entry{filepath.Join(r.source, "LICENSE"), "/usr/share/licenses/foliot/LICENSE", 0o644},
	)
	return nfpm.Overridables{
		Contents: r.contents(entries, "foliot"), // pre.sh makes the group
		Depends:  []string{"/usr/sbin/useradd", "/usr/bin/getent"},
		Scripts: nfpm.Scripts{
			PreInstall:  filepath.Join(scripts, "pre.sh"),
			PostInstall: filepath.Join(scripts, "post.sh"),
			PreRemove:   filepath.Join(scripts, "preun.sh"),
			PostRemove:  filepath.Join(scripts, "postun.sh"),
		},
		RPM: nfpm.RPM{Summary: strings.ToUpper(summary[:1]) + summary[1:], BuildHost: "foliot", Compression: "xz"},
	}
}

// contents returns the entries and the configuration in the form of nfpm.
func (r *release) contents(entries []entry, configGroup string) files.Contents {
	list := files.Contents{{
		Source: filepath.Join(r.stage, "foliot.yaml"), Destination: "/etc/foliot/foliot.yaml", Type: files.TypeConfigNoReplace,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: configGroup, Mode: 0o640, MTime: r.made},
	}, {
		Destination: "/etc/foliot", Type: files.TypeDir,
		FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: os.ModeDir | 0o755, MTime: r.made},
	}}
	for _, e := range entries {
		list = append(list, &files.Content{
			Source: e.from, Destination: e.to, Type: files.TypeFile,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: e.mode, MTime: r.made},
		})
	}
	return list
}

// pack writes one package.
func (r *release) pack(p platform, format string, o nfpm.Overridables) error {
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "foliot", Arch: p.arch, Platform: p.os,
		Version: r.packageVersion(), VersionSchema: "none", MTime: r.made,
		Section: "admin", Priority: "optional", Maintainer: maintainer, License: "MIT",
		Homepage: "https://github.com/foliot/foliot", Description: summary + "\n" + description,
		DisableGlobbing: true, Overridables: o,
	})
	if format == "rpm" {
		info.Release, info.Description = "1", description
		for _, c := range info.Contents {
			switch {
			case strings.HasPrefix(c.Destination, "/usr/share/doc/"), strings.HasPrefix(c.Destination, "/usr/share/man/"):
				c.Type = files.TypeRPMDoc
			case strings.HasPrefix(c.Destination, "/usr/share/licenses/"):
				c.Type = files.TypeRPMLicense
			}
		}
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	f, err := os.Create(r.file(p, "."+format))
	if err != nil {
		return err
	}
	return errors.Join(packager.Package(info, f), f.Close())
}
