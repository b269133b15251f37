package harness

import (
	"context"
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
	cmd := exec.CommandContext(ctx, "go", append(args, serverPackage)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary: %w\n%s", err, out)
	}
	return path, nil
}
