package harness

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// serverPackage is the program under test.
const serverPackage = "github.com/foliot/foliot/cmd/foliot"

// Build compiles the binary into dir, with the profiler if that is asked for.
func Build(ctx context.Context, dir string, profiled bool) (string, error) {
	path := filepath.Join(dir, "foliot")
	args := []string{"build", "-buildvcs=false", "-o", path}
	if profiled {
		list, err := overlay(dir)
		if err != nil {
			return "", err
		}
		args = append(args, "-overlay", list)
	}
	return path, command(ctx, "", "go", append(args, serverPackage)...)
}

// BuildAt compiles the binary of another commit into dir.
func BuildAt(ctx context.Context, dir, commit string) (string, error) {
	tree, path := filepath.Join(dir, "tree"), filepath.Join(dir, "foliot-"+filepath.Base(commit))
	if err := command(ctx, "", "git", "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return "", err
	}
	err := command(ctx, tree, "go", "build", "-buildvcs=false", "-o", path, "./cmd/foliot")
	return path, errors.Join(err, command(context.WithoutCancel(ctx), "", "git", "worktree", "remove", "--force", tree))
}

// command runs a program in dir.
func command(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, args[0], err, out)
	}
	return nil
}
