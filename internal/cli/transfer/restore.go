package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/flags"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/usage"
)

// Restore is the command foliot restore.
type Restore struct {
	File string `arg:"" help:"The backup to read; - means standard input."`
	Data string `required:"" placeholder:"DIR" help:"The data directory to create. It must not exist, or must be empty."`
}

func (Restore) Help() string {
	return `Creates a data directory from a backup, for a new server. The command first verifies the checksum of each file, and then the number of
records, the counts and the checksum of all records. A damaged backup leaves no files behind.

The restored server repeats all deliveries made after the backup, with the same webhook-id. Tasks that were created after
the backup are missing. Do not run both servers at the same time.

Examples:

    foliot restore foliot-2026-11-20.tar --data ./foliot-data
    zstd -dc foliot.tar.zst | foliot restore - --data /var/lib/foliot`
}

// restoreReply is the output of restore with -o json.
type restoreReply struct {
	Data      string    `json:"data"`
	CreatedAt time.Time `json:"created_at"`
	Tasks     int64     `json:"tasks"`
	Schedules int64     `json:"schedules"`
	Checksum  string    `json:"checksum"`

	Queues []pebblestore.QueueCount `json:"queues"`
}

func (c *Restore) Run(ctx context.Context, con *console.Console, parsed *kong.Context) error {
	dir, err := config.LocalDir("--data", c.Data)
	if err == nil {
		err = fileaccess.CheckPlace("--data", dir)
	}
	if err == nil {
		err = flags.CheckStore("restore that store from its own backups; to move tasks from a directory into it, use `foliot export` and `foliot import`")
	}
	if err != nil {
		return err
	}
	in, size, err := usage.Open(c.File, con.In)
	if err != nil {
		return err
	}
	defer in.Close()
	bar := console.NewProgress(con, "verified", size)
	m, err := pebblestore.Restore(ctx, io.TeeReader(in, bar), dir)
	bar.Done()
	switch {
	case errors.Is(err, pebblestore.ErrNotEmpty):
		return usage.Errorf("--data", "%s is not empty: restore into a new directory, and start the server with that", dir)
	case err != nil:
		return fmt.Errorf("%s: %w; nothing was changed", c.File, err)
	case con.JSON:
		return con.Object(restoreReply{Data: dir, CreatedAt: m.CreatedAt, Tasks: m.Tasks, Schedules: m.Schedules, Checksum: m.Checksum, Queues: m.Queues})
	}
	con.Linef("restored %s%s as of %s into %s", wording.Count(m.Tasks, "task"), wording.AndSchedules(int(m.Schedules)), wording.Instant(m.CreatedAt), dir)
	con.Linef("checksum of all records %s", m.Checksum)
	con.Notef("start the server with the settings of the old one, above all egress-allow: foliot serve --config FILE --data %s", usage.ShellWord(dir))
	return nil
}
