package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// release is one run.
type release struct {
	out     string
	source  string // the clean clone
	stage   string // files that are made for archives and packages
	version string // of the binaries, such as v1.2.3
	commit  string
	made    time.Time // of the commit
}

func run(ctx context.Context, o options) error {
	work, err := os.MkdirTemp("", "foliot-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r := &release{source: filepath.Join(work, "source"), stage: filepath.Join(work, "stage")}
	if r.out, err = filepath.Abs(o.out); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.out), os.MkdirAll(r.out, 0o755), os.MkdirAll(r.stage, 0o755)); err != nil {
		return err
	}
	if err := r.clone(ctx, o.repository); err != nil {
		return err
	}
	if err := r.document(ctx, o); err != nil {
		return err
	}
	if err := r.pages(); err != nil {
		return err
	}
	if err := r.chart(o.snapshot); err != nil {
		return err
	}
	for _, p := range o.platforms {
		if err := r.platform(ctx, p); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := r.sums(); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "release: the files are in %s, and their version is %s\n", o.out, strings.TrimPrefix(r.version, "v"))
	return nil
}

// clone makes the clean clone of HEAD, and reads its commit. The Go tool records
// the version only in a clone: a worktree has none.
func (r *release) clone(ctx context.Context, repository string) error {
	if changes, err := output(ctx, repository, "git", "status", "--porcelain"); err != nil {
		return err
	} else if changes != "" {
		fmt.Fprintln(os.Stderr, "release: the changes that are not committed are not in these files")
	}
	if _, err := output(ctx, repository, "git", "clone", "--quiet", ".", r.source); err != nil {
		return err
	}
	line, err := output(ctx, r.source, "git", "log", "-1", "--format=%ct %H")
	if err != nil {
		return err
	}
	seconds, commit, _ := strings.Cut(line, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	r.commit = commit
	r.made = time.Unix(unix, 0).UTC()
	return err
}

// document builds the program for this machine, reads its version, and lets it
// write its pages.
func (r *release) document(ctx context.Context, o options) error {
	host := platform{runtime.GOOS, runtime.GOARCH}
	binary, err := r.build(ctx, host)
	if err != nil {
		return err
	}
	if r.version, err = versionOf(binary); err != nil {
		return err
	}
	if err := o.check(r.version); err != nil {
		return err
	}
	pages := map[string][]string{
		"foliot.1":    {"man"},
		"foliot.bash": {"completion", "bash"},
		"foliot.zsh":  {"completion", "zsh"},
		"foliot.fish": {"completion", "fish"},
		"foliot.yaml": {"config", "--example"},
	}
	for name, args := range pages {
		text, err := output(ctx, r.source, binary, args...)
		if err != nil {
			return err
		}
		if err := r.write(name, []byte(text+"\n")); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error unless version, which the binary has, is the one to
// release. A commit can have several tags.
func (o options) check(version string) error {
	switch {
	case o.version != "" && o.version != version:
		return fmt.Errorf("the version of the commit is %s, not %s: remove its other tags, or release the tag %[1]s", version, o.version)
	case !o.snapshot && (!semver.IsValid(version) || module.IsPseudoVersion(version)):
		return fmt.Errorf("the commit has no tag, so its version is %s: tag it, or make a snapshot with SNAPSHOT=1", version)
	}
	return nil
}

// write adds a file to the stage. Archives and packages set its mode.
func (r *release) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(r.stage, name), content, 0o600)
}

// platform builds the files of one platform.
func (r *release) platform(ctx context.Context, p platform) error {
	fmt.Fprintln(os.Stderr, "release: building", p)
	binary, err := r.build(ctx, p)
	if err != nil {
		return err
	}
	if err := r.licenses(ctx, p); err != nil {
		return err
	}
	if err := r.components(binary, p); err != nil {
		return err
	}
	if err := r.archive(binary, p); err != nil {
		return err
	}
	if p.os != "linux" {
		return nil
	}
	return r.packages(binary, p)
}

// file returns the path of a file of the release.
func (r *release) file(p platform, ext string) string {
	name := fmt.Sprintf("foliot_%s_%s_%s", strings.TrimPrefix(r.version, "v"), p.os, p.arch)
	return filepath.Join(r.out, name+ext)
}

// output runs a command and returns its output without the last line end.
// Settings of a server in the environment would change the pages.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, "FOLIOT_") })
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, failed.String())
	}
	return strings.TrimSuffix(string(out), "\n"), nil
}
