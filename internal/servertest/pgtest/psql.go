package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Psql runs statements in one transaction on a new connection, and returns the
// rows of the last one: a line for each, with | between the columns. It is only
// for the management of tests: the code under test has a real client.
func Psql(ctx context.Context, url, sql string) (string, error) {
	bin, err := Binaries()
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, filepath.Join(bin, "psql"), "-XAtq", "-d", url, "-c", sql).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		err = fmt.Errorf("psql: %w: %s", err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}
