package harness

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliot/foliot/test/battery/harness/timing"
)

// A process must profile itself, and the server has no command for it. So the
// measured binary gets one more source file by the compiler's flag -overlay. The
// shipped binary does not have this file.
//
//go:embed overlay/profile.go.txt
var profiler []byte

// profileVariable names the file that a profile is written to.
const profileVariable = "BATTERY_PROFILE"

// overlay writes the file for go build -overlay, and returns its path.
func overlay(dir string) (string, error) {
	out, err := exec.Command("go", "list", "-f", "{{.Dir}}", serverPackage).Output()
	if err != nil {
		return "", fmt.Errorf("find the server's sources: %w", err)
	}
	file, list := filepath.Join(dir, "profile.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(strings.TrimSpace(string(out)), "battery_profile.go"): file},
	})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(file, profiler, 0o600); err != nil {
		return "", err
	}
	return list, os.WriteFile(list, replace, 0o600)
}

// Profile starts a profile of the server, if the options request it. The
// returned function ends the profile and prints its path.
func (e *Environment) Profile(name string) (stop func(context.Context) error, err error) {
	if !e.Run.Options.Profile {
		return func(context.Context) error { return nil }, nil
	}
	if err := e.Server.Cmd.Process.Signal(syscall.SIGUSR1); err != nil {
		return nil, fmt.Errorf("start a profile: %w", err)
	}
	return func(ctx context.Context) error {
		if err := e.Server.Cmd.Process.Signal(syscall.SIGUSR2); err != nil {
			return fmt.Errorf("end the profile: %w", err)
		}
		timing.Pause(ctx, time.Second) // time to write it
		kept := filepath.Join(e.Run.Dir, name+".pprof")
		if err := os.Rename(e.Server.profileFile(), kept); err != nil {
			return fmt.Errorf("keep the profile: %w", err)
		}
		e.Run.Note("where the server's time goes: go tool pprof -top %s", kept)
		return nil
	}, nil
}
