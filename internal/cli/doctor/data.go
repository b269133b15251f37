package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/usage"
)

// Data examines a data directory that no server has open.
func Data(ctx context.Context, dir string, f *Report) error {
	info, err := os.Stat(dir)
	if err != nil {
		return usage.Errorf("DIR", "%v", err)
	}
	if !info.IsDir() {
		return usage.Errorf("DIR", "%s is a file: name a directory", dir)
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // log messages of the database are not findings
	r, err := pebblestore.Verify(ctx, dir)
	switch {
	case errors.Is(err, pebblestore.ErrInUse):
		return fmt.Errorf("%s: a server has it open: stop the server, or examine the server itself with foliot doctor", dir)
	case err != nil:
		return fileaccess.Placed("DIR", err)
	}
	if err := fileaccess.SecretDir.Check(dir, info); err != nil {
		f.add("access", false, "%v", err)
	}
	if r.Clean {
		f.add("closed", true, "cleanly")
	} else {
		f.add("closed", true, "not cleanly: the next start recovers, which is safe")
	}
	f.add("records", true, "%s%s, %d entries, checksum %s", wording.Count(r.Tasks, "task"), wording.AndSchedules(int(r.Schedules)), r.Entries, r.Checksum)
	for _, problem := range r.Problems {
		f.add("problem", false, "%s", problem)
	}
	if r.More > 0 {
		f.add("problem", false, "and %d more", r.More)
	}
	if len(r.Problems) == 0 {
		f.add("consistency", true, "records, index entries and counts agree")
	}
	if space, err := pebblestore.SpaceOf(dir); err == nil {
		f.add("space", space.Accepts(), "%v", space)
	}
	return f.end()
}
