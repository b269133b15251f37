package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/task"
)

// registry is the membership.Registry in the tables node and shard. A heartbeat writes
// only the row of its process, which is the lease of all its shards. All other changes
// of the two tables lock the table node, so that no heartbeat comes between. A change that
// takes shards from a silent process sets its until to 0 before, and then its next
// heartbeat finds that it has lost them.
type registry struct{ *Store }

// nodes are the rows of the table node.
type nodes []*node

// node is a process.
type node struct {
	Process string          `json:"process"`
	About   membership.Peer `json:"about"`
	Beat    task.Millis     `json:"beat"`  // its last heartbeat; 0: it has left
	Until   task.Millis     `json:"until"` // the end of the lease of its shards; 0: it has none
	Twin    bool            `json:"twin"`  // another process has its name
	Drained drained         `json:"drained"`
}

// drained is the order that a process must own no shards.
type drained int

const (
	undrained drained = iota
	drainedIfOthers
	drainedByForce
)

// keepDead is how long a node without heartbeats stays in the list for operators, and
// forgotten, in silences, how long it counts among the nodes.
const (
	keepDead  = time.Hour
	forgotten = 10
)

// serverTime is the server's clock in milliseconds, rounded down: a cast to bigint
// would round up, and now() is the begin of the transaction.
const serverTime = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// Beat implements membership.Registry.
func (r registry) Beat(ctx context.Context, mode membership.Mode, self *membership.Peer, silence time.Duration) (n membership.Nodes, err error) {
	var all nodes
	switch mode {
	case membership.ReadOnly, membership.ReadAll:
		all, n.Now, err = r.readNodes(ctx, r.pool)
	case membership.Alive:
		if all, n.Now, err = r.renew(ctx, self); err != nil || all != nil {
			break
		}
		fallthrough
	default:
		err = r.locked(ctx, func(tx pgx.Tx) error {
			before := r.recovery
			if err := tx.QueryRow(ctx, "SELECT id FROM recovery", &r.schema).Scan(&r.recovery); err != nil {
				return err
			}
			return r.changeNodes(ctx, tx, func(list nodes, now task.Millis) nodes {
				all, n.Found = list.beat(mode, self, silence, r.lease, now)
				if n.Now = now; n.Found == 0 && r.recovery != before {
					n.Found = membership.Moved
				}
				return all
			})
		})
	}
	if err == nil && mode <= membership.Leave {
		r.beaten = n.Now
	}
	n.Peers = all.peers(n.Now, silence, mode == membership.ReadAll)
	return n, err
}

// renewNode is a heartbeat. It changes nothing if the process has lost its lease or its name.
// It also reads what an idle node needs to know, because it is the only statement that such a
// node makes. Now and then it looks for the oldest snapshot.
const renewNode = `
WITH begin AS MATERIALIZED (
	SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true)
), renewed AS (
	UPDATE node SET about = $4, beat = ` + serverTime + `, until = ` + serverTime + ` + $5
	FROM begin WHERE process = $3 AND until > 0 AND NOT twin RETURNING process
) SELECT ` + standing + `, (SELECT coalesce(jsonb_agg(node), '[]') FROM node), coalesce((SELECT id FROM recovery), ''), EXISTS (SELECT FROM renewed),
	CASE WHEN $6 THEN (
		SELECT coalesce(max(extract(epoch FROM clock_timestamp() - began) * 1e9), 0)::bigint FROM (
			SELECT xact_start FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND datname = current_database() AND backend_type = 'client backend'
			UNION ALL SELECT prepared FROM pg_prepared_xacts WHERE database = current_database()) t(began)) END,
	EXISTS (SELECT FROM news n WHERE n.shard = ANY($1::smallint[]) AND ` + unseen + `)`

// renew sends a heartbeat. It returns no nodes if the heartbeat needs the lock of the nodes.
func (r registry) renew(ctx context.Context, self *membership.Peer) (all nodes, now task.Millis, err error) {
	about, err := json.Marshal(self)
	if err != nil {
		return nil, 0, err
	}
	var data []byte
	var recovery string
	var renewed, stirred bool
	var oldest *time.Duration
	reply, examine := r.asked(), r.examined.IsZero() || time.Since(r.examined) > probeEvery
	err = r.pool.QueryRow(ctx, renewNode, &r.schema, r.numbers(), r.folded.Load(), self.Process(), about, r.lease.Milliseconds(), examine).
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
	r.noteRollback(all, now)
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
func (s *Store) readNodes(ctx context.Context, db rower) (all nodes, now task.Millis, err error) {
	var data []byte
	if err = db.QueryRow(ctx, "SELECT coalesce(jsonb_agg(node), '[]'), "+serverTime+" FROM node", &s.schema).Scan(&data, &now); err == nil {
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
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, lockNodes, &s.schema)
		if err == nil {
			err = do(tx)
		}
		return err
	})
}

const lockNodes = `
SELECT set_config('synchronous_commit', 'local', true), set_config('lock_timeout', '1s', true), set_config('idle_in_transaction_session_timeout', '1s', true);
LOCK TABLE node IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO recovery SELECT gen_random_uuid() WHERE NOT EXISTS (SELECT FROM recovery)`

// changeNodes replaces the rows by those that change returns, unless it returns nil.
func (s *Store) changeNodes(ctx context.Context, tx pgx.Tx, change func(nodes, task.Millis) nodes) error {
	all, now, err := s.readNodes(ctx, tx)
	if err != nil {
		return err
	}
	if all = change(all, now); all == nil {
		return nil
	}
	data, err := json.Marshal(all)
	if err == nil {
		_, err = tx.Exec(ctx, "DELETE FROM node", &s.schema)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "INSERT INTO node SELECT * FROM jsonb_to_recordset($1) n(process text, about jsonb, beat bigint, until bigint, twin boolean, drained smallint)", &s.schema, data)
	}
	return err
}

// beat makes a heartbeat of self, and returns the nodes after it. A name belongs to the first
// process that has it, until that one leaves or is silent.
func (all nodes) beat(mode membership.Mode, self *membership.Peer, silence, lease time.Duration, now task.Millis) (nodes, membership.Found) {
	var me, holder *node
	all = slices.DeleteFunc(all, func(n *node) bool {
		n.Beat, n.Until = min(n.Beat, now), min(n.Until, now.Add(lease)) // after now: the clock was set back
		keep := keepDead
		if n.Twin {
			keep = forgotten * silence
		}
		return n.Until <= now && now.Sub(n.Beat) > keep
	})
	for _, n := range all {
		if n.About.Name == self.Name && !n.Twin {
			holder = n
		}
		if n.Process == self.Process() {
			me = n
		}
	}
	if me == nil {
		me = &node{Process: self.Process(), Twin: true}
		all = append(all, me)
	}
	me.About, me.Beat = *self, now
	keeps := silence
	if mode == membership.KeepName {
		keeps = forgotten * silence
	}
	switch {
	case mode == membership.Leave && me == holder:
		me.Twin, me.Beat = true, 0
		return all, membership.Moved
	case mode == membership.Leave: // another process has its name by now
		me.Beat = 0
		return all, 0
	case me == holder && me.Until > 0:
		me.Until = now.Add(lease)
		return all, 0
	case me != holder && (mode == membership.NoName || holder != nil && now.Sub(holder.Beat) <= keeps):
		return all, membership.Other
	}
	if holder != nil {
		holder.Twin = true
	}
	me.Twin, me.Until = false, now.Add(lease)
	return all, membership.Moved
}

// peers returns the nodes as membership.Nodes requires.
func (all nodes) peers(now task.Millis, silence time.Duration, dead bool) (list []membership.Peer) {
	for _, n := range all {
		p := n.About
		p.Beat, p.Duplicate = min(n.Beat, now), n.Twin
		gone := now.Sub(n.Beat) > forgotten*silence
		p.Dead, p.Draining = gone && !n.Twin, n.Drained > undrained
		p.Forced = n.Drained == drainedByForce
		if !gone || dead && p.Dead {
			list = append(list, p)
		}
	}
	return list
}

// drain applies d, and reports whether that changed anything.
func (all nodes) drain(d store.Drain, silence time.Duration, now task.Millis) (changed bool, err error) {
	takes := func(n *node) bool { return !n.Twin && now.Sub(n.Beat) <= silence && n.Drained == undrained }
	i := slices.IndexFunc(all, func(n *node) bool { return n.About.Name == d.Node && !n.Twin && now.Sub(n.Beat) <= silence })
	if i < 0 {
		return false, &settings.MissingError{What: "node", Name: d.Node}
	}
	want := drainedIfOthers
	switch {
	case d.Undo:
		want = undrained
	case d.Force:
		want = drainedByForce
	}
	if all[i].Drained == want {
		return false, nil
	}
	if all[i].Drained = want; want == drainedIfOthers && !slices.ContainsFunc(all, takes) {
		return false, store.ErrLastNode
	}
	return true, nil
}

const (
	// holdLeases renews the lease of a process, and ends those that were not renewed in time.
	holdLeases = `
UPDATE node SET until = CASE WHEN process = $1 AND NOT twin OR until > ` + serverTime + ` + $2 THEN ` + serverTime + ` + $2 ELSE 0 END
WHERE until > 0 AND (process = $1 AND NOT twin OR until <= ` + serverTime + ` OR until > ` + serverTime + ` + $2)`
	// acquireShards gives a process those of some shards that have no owner with a lease.
	acquireShards = `
UPDATE shard SET owner = $1 || '/' || (epoch + 1), epoch = epoch + 1
WHERE n = ANY($2) AND EXISTS (SELECT FROM node WHERE process = $1 AND until > 0 AND NOT twin)
	AND NOT EXISTS (SELECT FROM node WHERE until > 0 AND starts_with(owner, process || '/'))`
	releaseShards = `UPDATE shard SET owner = '' WHERE n = ANY($2) AND starts_with(owner, $1 || '/')`
	// ownedShards returns all shards with the leases of their owners.
	ownedShards = `
SELECT CASE WHEN process IS NULL THEN '' ELSE owner END, coalesce(until, 0), epoch, ` + serverTime + ` FROM shard LEFT JOIN node ON until > 0 AND NOT twin AND starts_with(owner, process || '/') ORDER BY n`
)

// readOwners returns the leases of all shards, and the server's clock.
func (s *Store) readOwners(ctx context.Context, db Querier) (all []membership.Lease, now task.Millis, err error) {
	rows, err := db.Query(ctx, ownedShards, &s.schema)
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
			if _, err = tx.Exec(ctx, holdLeases, &r.schema, process, length.Milliseconds()); err == nil {
				_, err = tx.Exec(ctx, acquireShards, &r.schema, process, shards)
			}
		case "release":
			_, err = tx.Exec(ctx, releaseShards, &r.schema, process, shards)
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
	all, _, err := r.readOwners(ctx, r.pool)
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
		}, `SELECT n, owner, coalesce((SELECT max(until) FROM node WHERE starts_with(owner, process || '/')), 0), epoch, (SELECT count(*) FROM lease WHERE lease.shard = n),
			coalesce((SELECT min(look) FROM task WHERE task.shard = n AND lane IS NOT NULL AND NOT running), 0) FROM shard ORDER BY n`)
	})
}

// Drain implements store.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d store.Drain) error {
	_, err := store.Call(ctx, &s.calls, func() (none struct{}, err error) {
		changed, refused := false, error(nil)
		err = s.locked(ctx, func(tx pgx.Tx) error {
			return s.changeNodes(ctx, tx, func(all nodes, at task.Millis) nodes {
				if changed, refused = all.drain(d, s.silence(), at); !changed {
					return nil
				}
				return all
			})
		})
		if err = errors.Join(err, refused); err != nil || !changed {
			return none, err
		}
		// Apart, because heartbeats do not wait for a standby.
		return durably(ctx, s, func(tx pgx.Tx) (none struct{}, err error) {
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
func (s *Store) Owns(key task.Key) bool { return s.member.Owns(int(s.shardOf(key))) != nil }
