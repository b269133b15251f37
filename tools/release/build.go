package main

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// build compiles the program without C and returns its path. The Go tool records
// the version and the commit, as git knows them.
func (r *release) build(ctx context.Context, p platform) (string, error) {
	binary := filepath.Join(r.stage, p.os+"_"+p.arch, p.binary())
	if _, err := os.Stat(binary); err == nil {
		return binary, nil
	}
	cmd := r.goTool(ctx, p, "build", "-buildvcs=true", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/foliot")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, out)
	}
	return binary, nil
}

// goTool returns a command of the Go tool in the clone. Only variables that
// cannot change the binary pass through.
func (r *release) goTool(ctx context.Context, p platform, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = r.source
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		switch name {
		case "GOENV", "GOFLAGS", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GOFIPS140", "GOWORK", "CGO_ENABLED", "GOOS", "GOARCH":
		default:
			cmd.Env = append(cmd.Env, variable)
		}
	}
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOENV=off", "GOWORK=off") // GOENV=off ignores the file of go env -w
	return cmd
}

// versionOf returns the version that the Go tool recorded in the binary.
func versionOf(binary string) (string, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", err
	}
	if info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "", fmt.Errorf("%s has no version: the Go tool could not read the repository with git", binary)
	}
	return info.Main.Version, nil
}
