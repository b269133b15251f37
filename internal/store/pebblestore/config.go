package pebblestore

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/task"
)

// MaxOpenFiles is about how many file descriptors a store uses at most, because without
// free ones neither Pebble nor the process can continue.
const MaxOpenFiles = 256

// Config configures a Store, and its zero value works.
type Config struct {
	// Policy is how long records are kept after their end, where zero fields have the
	// defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. Default: 30 days.
	AuditKeep time.Duration

	// OnSync, unless nil, is called after each sync of the log with the time that its
	// batch waited and the number of changes in it. It must not block or call the store.
	OnSync func(d time.Duration, steps int)

	// OnReap, unless nil, is called by Open with the tasks that the previous process left
	// running. Their leases were taken back, and some tasks may have died of it.
	OnReap func(left []*task.Task)

	// OnFatal, unless nil, is called once, by any goroutine, if the medium has failed. The
	// store confirms no more changes, so the process should exit, with a status other than
	// 0. OnFatal must not call the store.
	OnFatal func(error)

	// Logger gets messages for operators. Default: none are logged.
	Logger *slog.Logger

	// Now is the clock that Open and Backup read, once each. Default: time.Now.
	Now func() time.Time

	// MemTableSize is how many bytes of changes are kept in memory before they are
	// written to a table, up to three times under load. They are read after a crash.
	// Default: 32 MiB, and less on a disk below 2.5 GiB: see memTableSize.
	MemTableSize uint64

	// FS is the file system. Default: the operating system's.
	FS vfs.FS

	// inlineBody, which only tests set, is the size up to which a body is a part of its
	// record. Default: the constant of this name.
	inlineBody int

	// eagerSpace, which only tests set, reads the free space before each change.
	eagerSpace bool

	// await, which only a test sets, waits until a batch is synced and frees it.
	await func(*pebble.Batch) error
}

func (c Config) withDefaults() Config {
	c.Policy = c.Policy.WithDefaults()
	c.AuditKeep = cmp.Or(c.AuditKeep, store.DefaultAuditKeep)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.inlineBody = cmp.Or(c.inlineBody, inlineBody)
	c.FS = cmp.Or(c.FS, vfs.Default)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.await == nil {
		c.await = await
	}
	return c
}
