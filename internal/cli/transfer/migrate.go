package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/cli/console"
	"github.com/foliot/foliot/internal/cli/wording"
	"github.com/foliot/foliot/internal/engine"
	"github.com/foliot/foliot/internal/engine/directory"
	"github.com/foliot/foliot/internal/engine/postgres"
	"github.com/foliot/foliot/internal/engine/redis"
	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/server/config"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/migration"
	"github.com/foliot/foliot/internal/store/pebblestore/marker"
	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/usage"
)

// Migrate is the command foliot migrate.
type Migrate struct {
	From        string `required:"" env:"FOLIOT_MIGRATE_FROM" placeholder:"STORE" help:"The store to move: a directory, or the URL of a Redis or PostgreSQL as in foliot serve --store."`
	To          string `required:"" env:"FOLIOT_MIGRATE_TO" placeholder:"STORE" help:"The empty store that gets everything, in the same form."`
	DryRun      bool   `help:"Check both stores and count the tasks, but move nothing."`
	Undo        bool   `help:"Open the first store again, after a migration that has not ended, or after its result was deleted."`
	RedisUnsafe bool   `help:"Accept a second store in a Redis with settings that can lose tasks, as in foliot serve."`
}

func (Migrate) Help() string {
	return `Moves everything from one store into another one: tasks in every state with their ids, attempts and due times, schedules, queues,
namespaces, tokens, secrets, the audit log and the history. First stop every server and program that uses the first store, or drain them
(foliot cluster drain) and wait until no task runs. For PostgreSQL, run foliot postgres migrate first.

The command closes both stores, so that no server starts on them, and copies. Then it reads the second store again, and compares
counts and checksums. If they are equal, it opens the second store. If it fails or is killed, run it again: it continues. The
first store stays closed, because otherwise both would send the same tasks. --undo opens it again; if
the move is complete, only after the second store was emptied.

Tasks that become due in the meantime are sent when a server starts on the second store. Even --dry-run opens a directory as
foliot serve does: tasks that were running when its server was killed are due again.

Examples:

    foliot migrate --from ./foliot-data --to redis://127.0.0.1:6379 --dry-run
    foliot migrate --from ./foliot-data --to redis://127.0.0.1:6379
    foliot migrate --from redis://:PASSWORD@10.0.0.1 --to 'postgres://foliot:PASSWORD@10.0.0.2/shop?search_path=foliot'`
}

// migrateReply is the output of -o json.
type migrateReply struct {
	From      string `json:"from"`
	To        string `json:"to"`
	Tasks     int64  `json:"tasks"`
	Schedules int64  `json:"schedules"`
	Checksum  string `json:"checksum,omitempty"` // of everything in both stores
}

func (c *Migrate) Run(ctx context.Context, con *console.Console) (err error) {
	from, err := c.open(ctx, "--from", c.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	to, err := c.open(ctx, "--to", c.To)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	bar := console.NewProgress(con, "copied", -1)
	m := migration.Migration{From: from, To: to, Progress: bar.Add, Compares: func() { bar.Begin("compared") }}
	moved, done, began := migration.Contents{}, "moved", time.Now()
	switch {
	case c.Undo:
		if err := m.Undo(ctx); err != nil {
			return err
		}
		return con.Resultf(migrateReply{From: from.Name, To: to.Name}, "%s is open again; before you use %s, empty it: %s", from.Name, to.Name, emptying(c.To))
	case c.DryRun:
		done, err = "would move", m.Check(ctx)
		if err == nil {
			moved.Counts, err = migration.CountsOf(ctx, from)
		}
	default:
		moved, err = m.Run(ctx)
		if bar.Done(); err != nil && !errors.Is(err, migration.ErrRefused) {
			err = fmt.Errorf("%w; the stores may be closed: repeat the command to continue, or open %s again with --undo", err, from.Name)
		}
	}
	if err != nil {
		return err
	}
	tasks, schedules := moved.Tasks()
	if !c.DryRun {
		con.Notef("checksum of both %s, in %.1f s; start servers with --store %s, and delete %s when you no longer need it", moved.Checksum, time.Since(began).Seconds(), to.Name, from.Name)
	}
	return con.Resultf(migrateReply{from.Name, to.Name, tasks, schedules, moved.Checksum},
		"%s %s%s from %s to %s", done, wording.Count(tasks, "task"), wording.AndSchedules(int(schedules)), from.Name, to.Name)
}

// emptying returns the command that empties a store.
func emptying(store string) string {
	switch {
	case redisurl.Is(store):
		return "redis-cli --scan --pattern 'foliot:*' | xargs redis-cli unlink, with its prefix if that is not foliot"
	case config.SharedStore(store) != "":
		return "DROP SCHEMA with the name of the schema and CASCADE, and then foliot postgres migrate"
	}
	return "rm -r " + store
}

// open opens a store as a process that is no node of it.
func (c *Migrate) open(ctx context.Context, flag, text string) (migration.Store, error) {
	var medium engine.Medium
	name, explain := "", func(err error) error { return err }
	switch {
	case redisurl.Is(text):
		u, err := redisurl.Parse(text)
		m := redis.Embedded()
		m.Config.Unsafe = c.RedisUnsafe || flag == "--from"
		if err == nil {
			err = u.Configure(&m.Config)
		}
		if err != nil {
			return migration.Store{}, usage.Errorf(flag, "%v", err)
		}
		medium, name, explain = m, u.String(), func(err error) error { return u.Explain("open", err) }
	case config.SharedStore(text) != "":
		if _, err := pgstore.Parse(text); err != nil {
			return migration.Store{}, usage.Errorf(flag, "%v", err)
		}
		m := postgres.Embedded()
		m.Config.URL = text
		medium, name = m, pgstore.Location(text)
	case text == "memory:" || strings.Contains(text, "://"):
		return migration.Store{}, usage.Errorf(flag, "this is no store that can move: pass a directory, or the URL of a Redis or PostgreSQL")
	default:
		dir, err := config.LocalDir(flag, text)
		if err == nil && flag == "--from" && !marker.Marked(dir) {
			err = usage.Errorf(flag, "%s is not a data directory", dir)
		}
		if err == nil {
			err = fileaccess.CloseDataDir(flag, dir)
		}
		if err != nil {
			return migration.Store{}, err
		}
		medium, name, explain = directory.Medium{Path: dir}, dir, func(err error) error { return fileaccess.Placed(flag, err) }
	}
	opened, err := medium.Open(ctx, engine.StoreConfig{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return migration.Store{}, explain(err)
	}
	return migration.Store{Store: opened.Store, Name: name, Now: opened.Clock}, nil
}
