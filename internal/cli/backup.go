package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/alecthomas/kong"
	"github.com/schollz/progressbar/v3"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/store/pebblestore"
	"github.com/foliot/foliot/internal/usage"
)

type backupCmd struct {
	File  string `arg:"" help:"The file to write; it appears when it is complete. - is standard output."`
	Force bool   `short:"f" help:"Put the backup in the place of a file that exists, once it is complete."`
}

// Help shows examples below the usage line.
func (backupCmd) Help() string {
	return `Copies everything a running server keeps into one file: tasks, queues, tokens, secrets and the audit log, as they were at one moment. The server
goes on meanwhile. Everything that was answered before the backup began is in it. It takes an operator's token of scope admin.

The file holds the signing secrets in clear: keep it as you keep those. foliot restore reads it; a backup that was cut off is refused there.
A file that exists is left as it is, unless --force says otherwise; it goes when the new one is complete, and stays when that fails.

Examples:

    foliot backup /backup/foliot-$(date +%F).tar
    foliot backup - | zstd > foliot.tar.zst`
}

// Run takes the backup.
func (c *backupCmd) Run(ctx context.Context, con *console, api *client.Client) error {
	if err := c.checkFile(); err != nil {
		return err
	}
	began := time.Now()
	bar := newByteProgress(con, "copied", -1)
	var size int64
	write := func(w io.Writer) (err error) {
		size, err = api.Admin.Backup(ctx, io.MultiWriter(w, bar))
		return err
	}
	var err error
	if c.File == "-" {
		err = buffered(con.out, write)
	} else {
		err = replaceFile(c.File, write)
	}
	bar.done()
	if err != nil {
		return err
	}
	con.notef("%s in %.1f s: %s", wording.Megabytes(size), time.Since(began).Seconds(), c.File)
	return nil
}

// checkFile refuses to overwrite what nobody said should be, and, whatever
// anybody says, what is no file: a device is not to be renamed over.
func (c *backupCmd) checkFile() error {
	info, err := os.Stat(c.File)
	switch {
	case c.File == "-" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage.Errorf("FILE", "%v", err)
	case info.IsDir():
		return usage.Errorf("FILE", "%s is a directory", c.File)
	case !info.Mode().IsRegular():
		return usage.Errorf("FILE", "%s is no file: - writes to standard output", c.File)
	case !c.Force:
		return usage.Errorf("FILE", "%s exists: give another name, or --force to replace it", c.File)
	}
	return nil
}

type restoreCmd struct {
	File string `arg:"" help:"The backup to read; - is standard input."`
	Data string `required:"" placeholder:"DIR" help:"The data directory to make: it must not exist, or be empty."`
}

// Help shows examples below the usage line.
func (restoreCmd) Help() string {
	return `Makes a data directory of a backup, for a server to be started on. Everything is verified first: each file's checksum, and then, of what they
hold together, the number of records, the counts and the checksum of all of it. A backup that is damaged leaves nothing behind.

What was delivered after the backup was taken is delivered again by the restored server, under the same webhook-id; what was created after
it is not there. Do not run the two servers side by side.

Examples:

    foliot restore foliot-2026-11-20.tar --data ./foliot-data
    zstd -dc foliot.tar.zst | foliot restore - --data /var/lib/foliot`
}

// restoreReply is what restore prints with -o json.
type restoreReply struct {
	Data      string    `json:"data"`
	CreatedAt time.Time `json:"created_at"`
	Tasks     int64     `json:"tasks"`
	Schedules int64     `json:"schedules"`
	Checksum  string    `json:"checksum"`

	Queues []pebblestore.QueueCount `json:"queues"`
}

// Run restores.
func (c *restoreCmd) Run(ctx context.Context, con *console, parsed *kong.Context) error {
	dir, err := config.LocalDir("--data", c.Data)
	if err == nil {
		err = fileaccess.CheckPlace("--data", dir)
	}
	if err == nil {
		err = checkRead(parsed, "a Redis is restored from its own files; tasks of a directory come into it by `foliot export` and `foliot import`")
	}
	if err != nil {
		return err
	}
	in, size := con.in, int64(-1)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return usage.Errorf("FILE", "%v", err)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			size = info.Size()
		}
		in = f
	}
	bar := newByteProgress(con, "verified", size)
	m, err := pebblestore.Restore(ctx, in, dir, bar.at)
	bar.done()
	switch {
	case errors.Is(err, pebblestore.ErrNotEmpty):
		return usage.Errorf("--data", "%s is not empty: restore into a new directory, and start the server on that", dir)
	case err != nil:
		return fmt.Errorf("restore %s into %s: %w; nothing was changed", c.File, dir, err)
	case con.json:
		return con.object(restoreReply{Data: dir, CreatedAt: m.CreatedAt, Tasks: m.Tasks, Schedules: m.Schedules, Checksum: m.Checksum, Queues: m.Queues})
	}
	con.sayf("restored %d tasks%s as of %s into %s", m.Tasks, wording.AndSchedules(int(m.Schedules)), wording.Instant(m.CreatedAt), dir)
	con.sayf("checksum of all records %s", m.Checksum)
	con.notef("start the server: foliot serve --data %s", dir)
	return nil
}

// byteProgress tells people how far a copy is. One goroutine uses it.
type byteProgress struct {
	con   *console
	verb  string
	bar   *progressbar.ProgressBar // nil: nothing can be redrawn
	bytes int64
	spoke time.Time
}

// newByteProgress begins a copy of size bytes; -1 when nobody knows how many.
func newByteProgress(con *console, verb string, size int64) *byteProgress {
	p := &byteProgress{con: con, verb: verb, spoke: time.Now()}
	if con.errTerm {
		p.bar = progressbar.NewOptions64(size,
			progressbar.OptionSetWriter(con.err),
			progressbar.OptionSetDescription(verb),
			progressbar.OptionShowBytes(true),
			progressbar.OptionSetWidth(30),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish(),
		)
	}
	return p
}

// Write notes that so much more is copied.
func (p *byteProgress) Write(b []byte) (int, error) {
	p.at(p.bytes + int64(len(b)))
	return len(b), nil
}

// at notes that so much is copied in all.
func (p *byteProgress) at(bytes int64) {
	p.bytes = bytes
	if p.bar != nil {
		_ = p.bar.Set64(bytes) // a bar that cannot be drawn is no reason to stop the work
		return
	}
	if now := time.Now(); now.Sub(p.spoke) >= plainEvery {
		p.spoke = now
		p.con.notef("%s %s", p.verb, wording.Megabytes(bytes))
	}
}

// done ends the bar, so that the next line stands by itself.
func (p *byteProgress) done() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
