package pebblestore

import (
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/foliot/foliot/internal/task"
)

// MaxOpenFiles bounds the descriptors that a store uses, about: a process that
// has none left for it cannot go on, since Pebble cannot either.
const MaxOpenFiles = 256

// Config says how a Store behaves. The zero Config works.
type Config struct {
	// Policy says how long records are kept after their end. Zero fields have
	// the defaults of task.Policy.
	Policy task.Policy

	// AuditKeep is how long entries of the audit log are kept. Default: 30 days;
	// negative: there is no audit log.
	AuditKeep time.Duration

	// OnSync is told of each sync of the log: how long its batch waited for it,
	// and how many changes were in it. It must not block, nor call the store.
	// Nil: nobody is told.
	OnSync func(d time.Duration, steps int)

	// OnReap is told, by Open, of the tasks whose leases, of the process before,
	// were taken back, as that left them: some may have died of it. Nil: nobody is told.
	OnReap func(left []*task.Task)

	// OnFatal is told, once, that the medium has failed. Nothing has been
	// answered that is not on the disk, and nothing will be answered any more:
	// the process should exit, not with 0. It is called by whichever goroutine
	// found out, so it must not call the store. Nil: only Err tells.
	OnFatal func(error)

	// Logger gets what concerns an operator. Default: nothing is logged.
	Logger *slog.Logger

	// Now is the clock that Open and Backup read, once each. Default: time.Now.
	Now func() time.Time

	// MemTableSize is how many bytes of changes are kept in memory before they
	// are written to a table; up to three times as much is in use under load. A
	// restart after a crash reads as much again. Default: 16 MiB.
	MemTableSize uint64

	// CacheSize is how many bytes of tables are kept in memory. Default: 32 MiB.
	CacheSize int64

	// FS is the file system. Default: the operating system's.
	FS vfs.FS

	// eagerSpace asks for the free space before each change. Only tests set it.
	eagerSpace bool

	// await waits until a batch is synced and frees it. Only the proof that the
	// power loss test can fail sets it.
	await func(*pebble.Batch) error
}

func (c Config) withDefaults() Config {
	c.Policy = c.Policy.WithDefaults()
	if c.AuditKeep == 0 {
		c.AuditKeep = task.DefaultAuditKeep
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.MemTableSize == 0 {
		c.MemTableSize = 16 << 20
	}
	if c.CacheSize == 0 {
		c.CacheSize = 32 << 20
	}
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.await == nil {
		c.await = await
	}
	return c
}
