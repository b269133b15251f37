package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// registry is the membership.Registry in the tables node and shard. A heartbeat writes
// only the row of its process, which is the lease of all its shards. All other changes
// of the two tables lock the table node, so that no heartbeat comes between. A change that
// takes shards from a silent process sets its until to 0 before, and then its next
// heartbeat finds that it has lost them.
type registry struct{ *Store }

// serverTime is the server's clock in milliseconds, rounded down: a cast to bigint
// would round up, and now() is the start of the transaction.
const serverTime = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// Beat implements membership.Registry.
func (r registry) Beat(ctx context.Context, mode membership.Mode, self *membership.Peer, silence time.Duration) (n membership.Nodes, err error) {
	var all membership.Roster
	switch mode {
	case membership.ReadOnly, membership.ReadAll:
		err = within(ctx, func(ctx context.Context) error {
			all, n.Now, err = r.readNodes(ctx, r.pool)
			return err
		})
	case membership.Alive:
		if all, n.Now, err = r.renew(ctx, self); err != nil || all != nil {
			break
		}
		fallthrough
	default:
		before, recovery := r.recovery, ""
		err = r.locked(ctx, func(tx pgx.Tx) error {
			if err := tx.QueryRow(ctx, "SELECT id FROM foliot.recovery", r.schema).Scan(&recovery); err != nil {
				return err
			}
			return r.changeNodes(ctx, tx, func(list membership.Roster, now task.Millis) membership.Roster {
				all, n.Found = list.Beat(mode, self, silence, r.lease, now)
				if n.Now = now; n.Found == 0 && recovery != before {
					n.Found = membership.Moved
				}
				return all
			})
		})
		if r.recovery = recovery; err != nil { // it may have been made, and then its reply that leases have moved is lost
			r.recovery = ""
		}
	}
	if err == nil && mode <= membership.Leave {
		r.beaten = n.Now
	}
	n.Peers = all.Peers(n.Now, silence, mode == membership.ReadAll)
	return n, err
}

// renewNode is a heartbeat. It changes nothing if the process has lost its lease or its name.
// It also reads what an idle node needs to know, because it is the only statement that such a
// node makes. Now and then it looks for the oldest snapshot.
var renewNode = `
WITH begin AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true)
), renewed AS (
	UPDATE foliot.node SET about = $4, beat = ` + serverTime + `, until = ` + serverTime + ` + $5
	FROM begin WHERE process = $3 AND until > 0 AND NOT twin RETURNING process
) SELECT ` + standing + `, (SELECT coalesce(jsonb_agg(node), '[]') FROM foliot.node), coalesce((SELECT id FROM foliot.recovery), ''), EXISTS (SELECT FROM renewed),
	CASE WHEN $6 THEN (
		SELECT coalesce(max(extract(epoch FROM clock_timestamp() - began) * 1e9), 0)::bigint FROM (
			SELECT xact_start FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND datname = current_database() AND backend_type = 'client backend'
			UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) t(began)) END,
	EXISTS (SELECT FROM ` + unseen + `)`

// renew sends a heartbeat. It returns no nodes if the heartbeat needs the lock of the nodes.
func (r registry) renew(ctx context.Context, self *membership.Peer) (all membership.Roster, now task.Millis, err error) {
	about, err := json.Marshal(self)
	if err != nil {
		return nil, 0, err
	}
	var data []byte
	var recovery string
	var renewed, stirred bool
	var oldest *time.Duration
	reply, examine := r.asked(), r.examined.IsZero() || time.Since(r.examined) > probeEvery
	err = r.pool.QueryRow(ctx, renewNode, r.schema, r.numbers(), r.folded.Load(), self.Process(), about, r.lease.Milliseconds(), examine).
		Scan(&reply.micros, &reply.version, &reply.waits, &reply.identity, &data, &recovery, &renewed, &oldest, &stirred)
	if err = r.answered(reply, err); err != nil {
		return nil, 0, err
	}
	if oldest != nil {
		r.examined = time.Now()
		r.oldest.Store(int64(*oldest))
	}
	if stirred {
		r.stirred.Store(true)
	}
	if stirred || reply.version != r.settings.Load().version {
		r.wakePoll()
	}
	now = task.Millis(reply.micros / 1000)
	if err = json.Unmarshal(data, &all); err != nil {
		return nil, now, err
	}
	r.noteRollback(all, self.Process(), now)
	if !renewed || recovery != r.recovery {
		return nil, now, nil
	}
	for _, n := range all {
		if n.Process == self.Process() {
			n.Beat = now
		} else if n.Beat > now.Add(r.heartbeat()) { // the clock was set back
			return nil, now, nil
		}
	}
	return all, now, nil
}

// rower is a pool or a transaction.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readNodes reads the nodes and the server's clock.
func (s *Store) readNodes(ctx context.Context, db rower) (all membership.Roster, now task.Millis, err error) {
	var data []byte
	if err = db.QueryRow(ctx, "SELECT coalesce(jsonb_agg(node), '[]'), "+serverTime+" FROM foliot.node", s.schema).Scan(&data, &now); err == nil {
		err = json.Unmarshal(data, &all)
	}
	return all, now, err
}

// locked runs a transaction that has locked the nodes. PostgreSQL ends it if this
// process stands still. A standby need not have it, because after a failover all
// nodes acquire their shards again.
func (s *Store) locked(ctx context.Context, do func(pgx.Tx) error) error {
	if err := s.isLost(); err != nil {
		return err
	}
	return within(ctx, func(ctx context.Context) error {
		return pgx.BeginTxFunc(ctx, s.pool, readCommitted, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, lockNodes, s.schema)
			if err == nil {
				err = do(tx)
			}
			return err
		})
	})
}

const lockNodes = `
SELECT set_config('synchronous_commit', 'local', true), set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', '1s', true);
LOCK TABLE foliot.node IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO foliot.recovery SELECT gen_random_uuid() WHERE NOT EXISTS (SELECT FROM foliot.recovery)`

const replaceNodes = `
WITH n AS (
	SELECT * FROM jsonb_to_recordset($1) n(process text, about jsonb, beat bigint, until bigint, twin boolean, drained smallint)
), gone AS (
	DELETE FROM foliot.node WHERE process NOT IN (SELECT process FROM n)
)
INSERT INTO foliot.node AS old SELECT * FROM n ON CONFLICT (process) DO UPDATE
SET about = excluded.about, beat = excluded.beat, until = excluded.until, twin = excluded.twin, drained = excluded.drained WHERE old.* IS DISTINCT FROM excluded.*`

// changeNodes replaces the rows by those that change returns, unless it returns nil.
func (s *Store) changeNodes(ctx context.Context, tx pgx.Tx, change func(membership.Roster, task.Millis) membership.Roster) error {
	all, now, err := s.readNodes(ctx, tx)
	if err != nil {
		return err
	}
	if all = change(all, now); all == nil {
		return nil
	}
	data, err := json.Marshal(all)
	if err == nil {
		_, err = tx.Exec(ctx, replaceNodes, s.schema, data)
	}
	return err
}

const (
	// holdLeases renews the lease of a process, and ends those that were not renewed in time.
	holdLeases = `
UPDATE foliot.node SET until = CASE WHEN process = $1 AND NOT twin OR until > ` + serverTime + ` + $2 THEN ` + serverTime + ` + $2 ELSE 0 END
WHERE until > 0 AND (process = $1 AND NOT twin OR until <= ` + serverTime + ` OR until > ` + serverTime + ` + $2)`
	// acquireShards gives a process those of some shards that have no owner with a lease.
	acquireShards = `
UPDATE foliot.shard SET owner = $1 || '/' || (epoch + 1), epoch = epoch + 1
WHERE n = ANY($2) AND EXISTS (SELECT FROM foliot.node WHERE process = $1 AND until > 0 AND NOT twin)
	AND NOT EXISTS (SELECT FROM foliot.node WHERE until > 0 AND starts_with(owner, process || '/'))`
	releaseShards = `UPDATE foliot.shard SET owner = '' WHERE n = ANY($2) AND starts_with(owner, $1 || '/')`
	// ownedShards returns all shards with the leases of their owners.
	ownedShards = `
SELECT CASE WHEN process IS NULL THEN '' ELSE owner END, coalesce(until, 0), epoch, ` + serverTime + ` FROM foliot.shard LEFT JOIN foliot.node ON until > 0 AND NOT twin AND starts_with(owner, process || '/') ORDER BY n`
)

// readOwners returns the leases of all shards, and the server's clock.
func (s *Store) readOwners(ctx context.Context, db Querier) (all []membership.Lease, now task.Millis, err error) {
	rows, err := db.Query(ctx, ownedShards, s.schema)
	if err == nil {
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l membership.Lease, err error) {
			err = row.Scan(&l.ID, &l.Until, &l.Epoch, &now)
			return l, err
		})
	}
	if err == nil && len(all) != s.shards {
		err = fmt.Errorf("the table shard has %d of %d shards", len(all), s.shards)
	}
	return all, now, err
}

// Lease implements membership.Registry. A shard that is acquired gets a new epoch.
func (r registry) Lease(ctx context.Context, verb membership.Verb, process string, length time.Duration, shards []int) []membership.LeaseReply {
	out := make([]membership.LeaseReply, len(shards))
	if len(shards) == 0 {
		return out
	}
	var all []membership.Lease
	var now task.Millis
	err := r.locked(ctx, func(tx pgx.Tx) (err error) {
		switch verb {
		case "hold":
			if _, err = tx.Exec(ctx, holdLeases, r.schema, process, length.Milliseconds()); err == nil {
				_, err = tx.Exec(ctx, acquireShards, r.schema, process, shards)
			}
		case "release":
			_, err = tx.Exec(ctx, releaseShards, r.schema, process, shards)
		}
		if err == nil {
			all, now, err = r.readOwners(ctx, tx)
		}
		return err
	})
	for i, n := range shards {
		if out[i].Err = err; err == nil {
			out[i].Owner, out[i].Left = all[n].ID, max(all[n].Until.Sub(now), 0)
		}
	}
	return out
}

// Owners implements membership.Registry.
func (r registry) Owners(ctx context.Context) ([]membership.Lease, error) {
	var all []membership.Lease
	err := within(ctx, func(ctx context.Context) (err error) {
		all, _, err = r.readOwners(ctx, r.pool)
		return err
	})
	return all, err
}

// Announce implements membership.Registry.
func (r registry) Announce(context.Context) { r.notify("nodes") }

// Listen implements membership.Registry.
func (r registry) Listen(ctx context.Context, news func()) {
	r.listeners.nodes.Store(&news)
	news()
	<-ctx.Done()
}

// Nodes implements store.Cluster.
func (s *Store) Nodes(ctx context.Context) ([]store.Node, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Node, error) { return s.member.Nodes(ctx) })
}

// Shards implements store.Cluster.
func (s *Store) Shards(ctx context.Context) ([]store.Shard, error) {
	return store.Call(ctx, &s.calls, func() ([]store.Shard, error) {
		now := s.now()
		return query(ctx, s, func(row pgx.CollectableRow) (sh store.Shard, err error) {
			err = row.Scan(&sh.Number, &sh.Owner, &sh.Until, &sh.Epoch, &sh.Running, &sh.NextDue)
			if sh.Owner, _, _ = strings.Cut(sh.Owner, "/"); sh.Until <= now {
				sh.Owner, sh.Until = "", 0
			}
			return sh, err
		}, `SELECT n, owner, coalesce((SELECT max(until) FROM foliot.node WHERE starts_with(owner, process || '/')), 0), epoch, (SELECT count(*) FROM foliot.lease WHERE lease.shard = n),
			coalesce((WITH RECURSIVE h AS (
				(SELECT lane FROM foliot.task WHERE shard = n AND lane IS NOT NULL ORDER BY lane LIMIT 1)
				UNION ALL SELECT t.lane FROM h, LATERAL (SELECT lane FROM foliot.task WHERE shard = n AND lane > h.lane ORDER BY lane LIMIT 1) t)
				SELECT min(t.look) FROM h, LATERAL (SELECT look FROM foliot.task WHERE shard = n AND task.lane = h.lane AND NOT running ORDER BY look LIMIT 1) t), 0)
			FROM foliot.shard ORDER BY n`)
	})
}

// Drain implements store.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d store.Drain) error {
	_, err := store.Call(ctx, &s.calls, func() (none struct{}, err error) {
		changed, refused := false, error(nil)
		err = s.locked(ctx, func(tx pgx.Tx) error {
			return s.changeNodes(ctx, tx, func(all membership.Roster, at task.Millis) membership.Roster {
				if changed, refused = all.Drain(d, s.silence(), at); !changed {
					return nil
				}
				return all
			})
		})
		if err = errors.Join(err, refused); err != nil || !changed {
			return none, err
		}
		// Apart, because heartbeats do not wait for a standby.
		return durably(ctx, s, func(ctx context.Context, tx pgx.Tx) (none struct{}, err error) {
			return none, s.audit(ctx, tx, store.AuditDrain(now, settings.ActorOf(ctx), d))
		})
	})
	if err == nil {
		s.notify("nodes")
	}
	return err
}

// Release gives all shards to the other nodes for good: see membership.Member. Close
// begins with it.
func (s *Store) Release() { s.member.Release() }

// Owns reports whether this node owns the shard of a task, without I/O.
func (s *Store) Owns(key task.Key) bool {
	return s.member.Owns(int(sqltask.Shard(key, s.shards))) != nil
}
