package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

const repository = "../.."

var platforms = flag.String("platforms", "all", "the platforms of the release that the tests build")

// shared is the directory of built. It stays after a failure.
var shared string

// built is a release of HEAD that the tests share.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "foliot-release-test-")
	if err != nil {
		return "", err
	}
	shared = dir
	tool := exec.Command("go", "build", "-o", filepath.Join(dir, "release"), ".")
	if out, err := tool.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", tool, err, out)
	}
	source := exec.Command("git", "clone", "--quiet", repository, filepath.Join(dir, "source"))
	if out, err := source.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", source, err, out)
	}
	return dir, build(dir, "first", "022", "TZ=UTC")
})

// build runs the program on the clone, which has one commit during the tests.
// The first run may use the build cache.
func build(dir, name, umask string, env ...string) error {
	temp := filepath.Join(dir, "tmp-"+name)
	if err := os.Mkdir(temp, 0o700); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", `umask "$0" && exec "$@"`, umask, filepath.Join(dir, "release"),
		"-repository", filepath.Join(dir, "source"), "-out", filepath.Join(dir, name), "-snapshot", "-platforms", *platforms)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+temp), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && shared != "" {
		_ = os.RemoveAll(shared) // an error leaves a directory behind
	}
	os.Exit(code)
}

func first(t *testing.T) (dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a release")
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "first")
}

func read(t *testing.T, path ...string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestTwoBuildsOfACommitAreEqual compiles everything a second time: in another
// directory, time zone, umask and settings of Go, and without the build cache.
func TestTwoBuildsOfACommitAreEqual(t *testing.T) {
	one := first(t)
	dir := filepath.Dir(one)
	settings := filepath.Join(dir, "env") // as go env -w writes it
	if err := os.WriteFile(settings, []byte("GOFLAGS=-tags=other\nGOAMD64=v3\nGOARM64=v9.0\nGOFIPS140=latest\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := build(dir, "second", "077", "GOENV="+settings, "GOFLAGS=-trimpath=false", "TZ=Pacific/Chatham", "LANG=tr_TR.UTF-8", "GOCACHE="+filepath.Join(dir, "cache")); err != nil {
		t.Fatal(err)
	}
	two := filepath.Join(dir, "second")
	if a, b := names(t, one), names(t, two); !slices.Equal(a, b) {
		t.Fatalf("the first build has %q, the second %q", a, b)
	}
	for _, name := range names(t, one) {
		if !bytes.Equal(read(t, one, name), read(t, two, name)) {
			t.Errorf("%s differs: compare the files in %s with diffoscope", name, dir)
		}
	}
}

func TestTheChecksumsNameEveryFile(t *testing.T) {
	dir := first(t)
	text := read(t, dir, sumsFile)
	var listed []string
	for line := range strings.Lines(string(text)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		listed = append(listed, name)
		if got := sha256.Sum256(read(t, dir, name)); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has another checksum", name)
		}
	}
	listed = append(listed, sumsFile)
	slices.Sort(listed)
	if all := names(t, dir); !slices.Equal(listed, all) {
		t.Errorf("listed %q, there are %q", listed, all)
	}
}

// contentsOf returns the files of an archive, and their modes.
func contentsOf(t *testing.T, name string) (files map[string][]byte, modes map[string]os.FileMode) {
	t.Helper()
	files, modes = map[string][]byte{}, map[string]os.FileMode{}
	keep := func(name string, mode os.FileMode, from io.Reader) {
		content, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ = strings.Cut(name, "/")
		files[name], modes[name] = content, mode
	}
	if strings.HasSuffix(name, ".zip") {
		archive, err := zip.OpenReader(name)
		if err != nil {
			t.Fatal(err)
		}
		defer archive.Close()
		for _, f := range archive.File {
			from, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			keep(f.Name, f.Mode(), from)
			from.Close()
		}
		return files, modes
	}
	zipped, err := gzip.NewReader(bytes.NewReader(read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zipped)
	for {
		head, err := archive.Next()
		if err == io.EOF {
			return files, modes
		}
		if err != nil {
			t.Fatal(err)
		}
		keep(head.Name, head.FileInfo().Mode(), archive)
	}
}

func TestTheLinksOfAnArchiveAreAbsolute(t *testing.T) {
	r := &release{source: repository, stage: t.TempDir(), commit: "0123abc"}
	if err := r.pages(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		text := string(read(t, r.stage, name))
		if !strings.Contains(text, "](https://github.com/foliot/foliot/blob/0123abc/docs/") {
			t.Errorf("%s has no link to a page of its commit", name)
		}
		for _, part := range strings.Split(text, "](")[1:] {
			if target, _, _ := strings.Cut(part, ")"); !strings.HasPrefix(target, "https://") && !strings.HasPrefix(target, "#") {
				t.Errorf("%s links to %s, which is not in the archive", name, target)
			}
		}
	}
}

func TestEachArchiveHasTheProgramAndItsPages(t *testing.T) {
	dir := first(t)
	archives := slices.DeleteFunc(names(t, dir), func(name string) bool {
		return !strings.HasSuffix(name, ".tar.gz") && !strings.HasSuffix(name, ".zip")
	})
	if len(archives) == 0 {
		t.Fatal("there is no archive")
	}
	for _, name := range archives {
		files, modes := contentsOf(t, filepath.Join(dir, name))
		program := "foliot"
		if strings.Contains(name, "windows") {
			program = "foliot.exe"
		}
		want := []string{program, "README.md", "CHANGELOG.md", "LICENSE", licensesFile, "completions/foliot.bash", "completions/foliot.fish", "completions/_foliot", "man/foliot.1", "grafana/alerts.yaml", "grafana/alerts_test.yaml", "grafana/foliot.json"}
		if strings.Contains(name, "linux") {
			want = append(want, "systemd/foliot.service", "systemd/foliot.sysusers")
		}
		for _, file := range want {
			mode := os.FileMode(0o644)
			if file == program {
				mode = 0o755
			}
			if len(files[file]) < 30 || modes[file] != mode {
				t.Errorf("%s: %s has %d bytes and mode %v", name, file, len(files[file]), modes[file])
			}
		}
		if len(files) != len(want) {
			t.Errorf("%s has %d files, want %d", name, len(files), len(want))
		}
		if third := string(files[licensesFile]); !strings.Contains(third, "github.com/cockroachdb/pebble/v2 v") || !strings.Contains(third, "web page: preact") {
			t.Errorf("%s: %s lacks a module or a library of the page", name, licensesFile)
		}
		bom := new(cdx.BOM)
		sbom := strings.TrimSuffix(strings.TrimSuffix(name, ".tar.gz"), ".zip") + ".cdx.json"
		if err := cdx.NewBOMDecoder(bytes.NewReader(read(t, dir, sbom)), cdx.BOMFileFormatJSON).Decode(bom); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(files[program])
		if got := (*bom.Metadata.Component.Hashes)[0].Value; got != hex.EncodeToString(sum[:]) {
			t.Errorf("%s describes another binary than the archive has", sbom)
		}
	}
}

// TestTheProgramPrintsItsVersion runs the binary for this machine.
func TestTheProgramPrintsItsVersion(t *testing.T) {
	dir := first(t)
	matches, err := filepath.Glob(filepath.Join(dir, "*_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"))
	if err != nil || len(matches) != 1 {
		t.Skipf("no archive for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	files, _ := contentsOf(t, matches[0])
	program := filepath.Join(t.TempDir(), "foliot")
	if err := os.WriteFile(program, files["foliot"], 0o700); err != nil {
		t.Fatal(err)
	}
	version, err := output(t.Context(), ".", program, "version")
	if err != nil {
		t.Fatal(err)
	}
	commit, err := output(t.Context(), filepath.Join(filepath.Dir(dir), "source"), "git", "rev-parse", "--short=12", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	number := strings.Split(filepath.Base(matches[0]), "_")[1]
	if !strings.HasPrefix(version, "foliot v"+number+" ("+commit+", ") {
		t.Errorf("%q; want version %s of commit %s", version, number, commit)
	}
	if page := string(files["man/foliot.1"]); !strings.Contains(page, strings.ReplaceAll("foliot v"+number, "-", `\-`)) {
		t.Error("the manual page has another version")
	}
}

func TestPackagesSortPrereleasesBeforeTheVersion(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3":                             "1.2.3",
		"v1.2.3-rc.1":                        "1.2.3~rc.1",
		"v0.0.0-20261127162700-ee734a99abcd": "0.0.0~20261127162700.ee734a99abcd",
	} {
		if got := (&release{version: version}).packageVersion(); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}

func TestAModuleWithoutALicenseIsRefused(t *testing.T) {
	module := t.TempDir()
	dir := filepath.Join(module, "a", "b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := joinLicenses(map[string][]string{"example.com/m v1": licensesAbove(dir, module)}); err == nil {
		t.Error("accepted")
	}
	for name, text := range map[string]string{"LICENSE": "the terms", "a/NOTICE.txt": "the notice", "license.go": "package m"} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := joinLicenses(map[string][]string{"example.com/m v1": licensesAbove(dir, module)})
	if got := string(text); err != nil || !strings.Contains(got, "the terms") || !strings.Contains(got, "the notice") || strings.Contains(got, "package m") {
		t.Errorf("%v: %s", err, got)
	}
}

func TestACommitWithoutATagIsNoRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	err := run(t.Context(), options{repository: repository, out: filepath.Join(t.TempDir(), "out")})
	tag, _ := output(t.Context(), repository, "git", "tag", "--points-at", "HEAD")
	if tag == "" && (err == nil || !strings.Contains(err.Error(), "SNAPSHOT=1")) {
		t.Errorf("got %v", err)
	}
}

// TestTheChartIsComplete reads the archive of the Helm chart. Links to files
// outside of the chart have become these files.
func TestTheChartIsComplete(t *testing.T) {
	r := &release{source: repository, out: t.TempDir(), version: "v0.0.0-20261127-abcdef", made: time.Unix(1, 0)}
	if err := r.chart(true); err != nil {
		t.Fatal(err)
	}
	found := names(t, r.out)
	if len(found) != 1 {
		t.Fatalf("the files are %v", found)
	}
	files, _ := contentsOf(t, filepath.Join(r.out, found[0]))
	for name, source := range map[string]string{"Chart.yaml": chartDir + "/Chart.yaml", "values.schema.json": chartDir + "/values.schema.json", "files/alerts.yaml": "docs/grafana/alerts.yaml", "files/foliot.json": "docs/grafana/foliot.json"} {
		if !bytes.Equal(files[name], read(t, repository, source)) {
			t.Errorf("the chart has another %s than %s", name, source)
		}
	}
	if err := r.chart(false); err == nil || !strings.Contains(err.Error(), "make clients") {
		t.Errorf("a chart of another version than the release: %v", err)
	}
}

func TestOnlyTheVersionOfTheTagIsReleased(t *testing.T) {
	for _, c := range []struct {
		o       options
		version string
		ok      bool
	}{
		{options{}, "v1.2.3", true},
		{options{version: "v1.2.3"}, "v1.2.3", true},
		{options{version: "v1.2.3-rc.1"}, "v1.2.3", false}, // two tags of one commit
		{options{}, "v0.0.0-20260102030405-0123456789ab", false},
		{options{snapshot: true}, "v0.0.0-20260102030405-0123456789ab", true},
	} {
		if err := c.o.check(c.version); (err == nil) != c.ok {
			t.Errorf("%+v, %s: %v", c.o, c.version, err)
		}
	}
}
