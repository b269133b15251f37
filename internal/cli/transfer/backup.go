package transfer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/internal/bytesize"
	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/usage"
)

// Backup is the command foliot backup.
type Backup struct {
	File  string `arg:"" help:"The file to write. It appears when the backup is complete; - means standard output."`
	Force bool   `short:"f" help:"Replace an existing file when the backup is complete."`
}

func (Backup) Help() string {
	return `Copies all data of a running server into one file: tasks, queues, tokens, secrets and the audit log, as they were at one moment. The
server keeps working. Everything that the server confirmed before the backup began is included. This needs an operator's token of
scope admin.

The file contains the signing secrets in plain text, so protect it like the secrets. foliot restore reads the file and refuses an
incomplete one. An existing file is replaced only with --force, and only when the backup is complete.

Examples:

    foliot backup /backup/foliot-$(date +%F).tar
    foliot backup - | zstd > foliot.tar.zst`
}

func (c *Backup) Run(ctx context.Context, con *console.Console, api *client.Client) error {
	if err := c.checkFile(); err != nil {
		return err
	}
	began := time.Now()
	bar := console.NewProgress(con, "copied", -1)
	var size int64
	write := func(w io.Writer) (err error) {
		size, err = admin.New(api).Backup(ctx, io.MultiWriter(w, bar))
		return err
	}
	err := writeTo(con, "backup", c.File, write)
	bar.Done()
	if err != nil {
		return err
	}
	con.Notef("%s in %.1f s: %s", bytesize.Text(size), time.Since(began).Seconds(), c.File)
	return nil
}

// checkFile refuses to replace an existing file without --force. It always
// refuses to replace a directory or a device.
func (c *Backup) checkFile() error {
	info, err := os.Stat(c.File)
	switch {
	case c.File == "-" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage.AboutFile(c.File, err)
	case info.IsDir():
		return usage.Errorf("", "%s is a directory", c.File)
	case !info.Mode().IsRegular():
		return usage.Errorf("", "%s is not a regular file: name another file, or - for standard output", c.File)
	case !c.Force:
		return usage.Errorf("", "%s exists: name another file, or pass --force to replace it", c.File)
	}
	return nil
}
