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
	"github.com/foliot/foliot/internal/task"
)

// registry is the membership.Registry in the tables node and shard.
type registry struct{ *Store }

// nodes are the nodes by name, and the processes that found their name taken. All are
// in one row, which each heartbeat locks.
type nodes struct {
	Nodes map[string]*node
	Twins map[string]*node // also by name
}

// node is the state of a node.
type node struct {
	membership.Peer
	Drained string // the nonce of the process that must own no shards
	ByForce bool
}

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
	if mode == membership.ReadOnly || mode == membership.ReadAll {
		var all nodes
		n.Now, err = r.readNodes(ctx, r.pool, &all, "")
		n.Peers = all.peers(n.Now, silence, mode == membership.ReadAll)
		return n, err
	}
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		return r.changeNodes(ctx, tx, func(all *nodes, now task.Millis) bool {
			n.Found, n.Now = all.beat(mode, self, silence, now), now
			n.Peers = all.peers(now, silence, false)
			return true
		})
	})
	return n, err
}

// rower is a pool or a transaction.
type rower interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// readNodes reads the nodes and the server's clock.
func (s *Store) readNodes(ctx context.Context, db rower, all *nodes, lock string) (now task.Millis, err error) {
	var data []byte
	if err = db.QueryRow(ctx, "SELECT nodes, "+serverTime+" FROM member"+lock, &s.schema).Scan(&data, &now); err == nil {
		err = json.Unmarshal(data, all)
	}
	return now, err
}

// changeNodes changes the nodes in a transaction, unless change returns false. A crash of
// PostgreSQL may undo it: heartbeats are repeated, and drains wait for their audit entry.
func (s *Store) changeNodes(ctx context.Context, tx pgx.Tx, change func(*nodes, task.Millis) bool) error {
	all := nodes{map[string]*node{}, map[string]*node{}}
	if _, err := tx.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true)"); err != nil {
		return err
	}
	now, err := s.readNodes(ctx, tx, &all, " FOR UPDATE")
	if err != nil || !change(&all, now) {
		return err
	}
	data, err := json.Marshal(all)
	if err == nil {
		_, err = tx.Exec(ctx, "UPDATE member SET nodes = $1", &s.schema, data)
	}
	return err
}

// beat writes the heartbeat of self. A name belongs to the first process that has it,
// until that one leaves or is silent.
func (all *nodes) beat(mode membership.Mode, self *membership.Peer, silence time.Duration, now task.Millis) (found membership.Found) {
	for name, n := range all.Twins {
		if n.Nonce == self.Nonce || now.Sub(n.Beat) > forgotten*silence {
			delete(all.Twins, name)
		}
	}
	for name, n := range all.Nodes {
		if n.Beat = min(n.Beat, now); now.Sub(n.Beat) > keepDead { // after now: the clock was set back
			delete(all.Nodes, name)
		}
	}
	holder := all.Nodes[self.Name]
	keeps := silence
	if mode == membership.KeepName {
		keeps = forgotten * silence
	}
	ours := holder != nil && holder.Nonce == self.Nonce
	switch me := (&node{Peer: *self}); {
	case mode == membership.Leave && ours:
		delete(all.Nodes, self.Name)
		return membership.Moved
	case mode == membership.Leave: // another process has its name by now
		return 0
	case ours:
		me.Beat, me.Drained, me.ByForce = now, holder.Drained, holder.ByForce
		all.Nodes[self.Name] = me
		return 0
	case mode == membership.NoName, holder != nil && now.Sub(holder.Beat) <= keeps:
		me.Beat = now
		all.Twins[self.Name] = me
		return membership.Other
	default:
		me.Beat = now
		all.Nodes[self.Name] = me
		return membership.Moved
	}
}

// peers returns the nodes in the order that membership.Nodes requires.
func (all *nodes) peers(now task.Millis, silence time.Duration, dead bool) (list []membership.Peer) {
	for _, name := range sortedKeys(all.Nodes) {
		n := all.Nodes[name]
		p := n.Peer
		p.Dead, p.Draining = now.Sub(p.Beat) > forgotten*silence, n.Drained == p.Nonce
		p.Forced = p.Draining && n.ByForce
		if !p.Dead || dead {
			list = append(list, p)
		}
		if t := all.Twins[name]; t != nil && now.Sub(t.Beat) <= forgotten*silence {
			t.Duplicate = true
			list = append(list, t.Peer)
		}
	}
	return list
}

// drain applies d, and reports whether that changed anything.
func (all *nodes) drain(d store.Drain, silence time.Duration, now task.Millis) (changed bool, err error) {
	n := all.Nodes[d.Node]
	if n == nil || now.Sub(n.Beat) > silence {
		return false, &settings.MissingError{What: "node", Name: d.Node}
	}
	before := *n
	if n.Drained, n.ByForce = n.Nonce, d.Force; d.Undo {
		n.Drained, n.ByForce = "", false
	}
	if *n == before {
		return false, nil
	}
	for name, other := range all.Nodes {
		if d.Undo || d.Force || name != d.Node && now.Sub(other.Beat) <= silence && other.Drained != other.Nonce {
			return true, nil
		}
	}
	return false, store.ErrLastNode
}

// Lease implements membership.Registry. A hold acquires a shard that has no owner, with
// a new epoch, or renews the lease of its owner.
func (r registry) Lease(ctx context.Context, verb membership.Verb, process string, length time.Duration, shards []int) []membership.LeaseReply {
	out := make([]membership.LeaseReply, len(shards))
	if len(shards) == 0 {
		return out
	}
	const ours = "starts_with(owner, $2 || '/')"
	sql := `WITH c AS MATERIALIZED (SELECT ` + serverTime + ` AS now)`
	args := []any{shards, process, length.Milliseconds()}
	switch verb {
	case "hold":
		sql += `, held AS (
	UPDATE shard s SET
		owner = CASE WHEN ` + ours + ` OR owner <> '' AND until > c.now THEN owner ELSE $2 || '/' || (epoch + 1) END,
		epoch = CASE WHEN ` + ours + ` OR owner <> '' AND until > c.now THEN epoch ELSE epoch + 1 END,
		until = c.now + $3
	FROM c, (SELECT n FROM shard WHERE n = ANY($1) ORDER BY n FOR UPDATE) l
	WHERE s.n = l.n AND (` + ours + ` OR owner = '' OR until <= c.now OR until > c.now + $3) RETURNING s.n, owner, until - c.now
) SELECT * FROM held UNION ALL SELECT n, owner, CASE WHEN owner = '' THEN 0 ELSE until - c.now END FROM shard, c WHERE n = ANY($1) AND n NOT IN (SELECT n FROM held)`
	case "release":
		sql += `, released AS (UPDATE shard SET owner = '', until = 0 WHERE n = ANY($1) AND ` + ours + ` RETURNING n)
SELECT n, CASE WHEN n IN (SELECT n FROM released) THEN '' ELSE owner END, until - c.now FROM shard, c WHERE n = ANY($1) AND $3::bigint IS NOT NULL`
	default:
		sql += ` SELECT n, owner, until - c.now FROM shard, c WHERE n = ANY($1) AND $2::text IS NOT NULL AND $3::bigint IS NOT NULL`
	}
	type lease struct {
		N     int
		Owner string
		Left  int64
	}
	all, err := query(ctx, r.Store, byPosition[lease], sql, args...)
	if err == nil && len(all) != len(shards) {
		err = fmt.Errorf("the table shard has %d of %d shards", len(all), len(shards))
	}
	of := map[int]lease{}
	for _, l := range all {
		of[l.N] = l
	}
	for i, n := range shards {
		out[i] = membership.LeaseReply{Owner: of[n].Owner, Left: time.Duration(max(of[n].Left, 0)) * time.Millisecond, Err: err}
	}
	return out
}

// Owners implements membership.Registry.
func (r registry) Owners(ctx context.Context) ([]membership.Lease, error) {
	return query(ctx, r.Store, func(row pgx.CollectableRow) (l membership.Lease, err error) {
		var owner string
		err = row.Scan(&owner, &l.Until, &l.Epoch)
		if i := strings.LastIndexByte(owner, '/'); i >= 0 {
			l.Process = owner[:i]
		}
		return l, err
	}, "SELECT owner, until, epoch FROM shard ORDER BY n")
}

// Publish implements membership.Registry.
func (r registry) Publish(ctx context.Context, node string, data []byte) error {
	sql := "INSERT INTO sums (node, data) VALUES ($1, $2) ON CONFLICT (node) DO UPDATE SET data = excluded.data"
	if data == nil {
		sql = "DELETE FROM sums WHERE node = $1 AND $2::bytea IS NULL"
	}
	_, err := r.pool.Exec(ctx, sql, &r.schema, node, data)
	return err
}

// Published implements membership.Registry.
func (r registry) Published(ctx context.Context) (map[string][]byte, error) {
	of := map[string][]byte{}
	_, err := query(ctx, r.Store, func(row pgx.CollectableRow) (none struct{}, err error) {
		var node string
		var data []byte
		err = row.Scan(&node, &data)
		of[node] = data
		return none, err
	}, "SELECT node, data FROM sums")
	return of, err
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
	return call(ctx, s, func() ([]store.Node, error) { return s.member.Nodes(ctx) })
}

// Shards implements store.Cluster.
func (s *Store) Shards(ctx context.Context) ([]store.Shard, error) {
	return call(ctx, s, func() ([]store.Shard, error) {
		now := s.now()
		return query(ctx, s, func(row pgx.CollectableRow) (sh store.Shard, err error) {
			err = row.Scan(&sh.Number, &sh.Owner, &sh.Until, &sh.Epoch, &sh.Running, &sh.NextDue)
			if sh.Owner, _, _ = strings.Cut(sh.Owner, "/"); sh.Until <= now {
				sh.Owner, sh.Until = "", 0
			}
			return sh, err
		}, `SELECT n, owner, until, epoch, (SELECT count(*) FROM lease WHERE lease.shard = n),
			coalesce((SELECT min(look) FROM task WHERE task.shard = n AND lane IS NOT NULL AND NOT running), 0) FROM shard ORDER BY n`)
	})
}

// Drain implements store.Cluster.
func (s *Store) Drain(ctx context.Context, now task.Millis, d store.Drain) error {
	_, err := call(ctx, s, func() (none struct{}, err error) {
		return none, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			changed, refused := false, error(nil)
			err := s.changeNodes(ctx, tx, func(all *nodes, at task.Millis) bool {
				changed, refused = all.drain(d, s.silence(), at)
				return changed
			})
			if err = errors.Join(err, refused); err != nil || !changed {
				return err
			}
			if _, err := tx.Exec(ctx, "SELECT set_config('synchronous_commit', 'on', true)"); err != nil {
				return err
			}
			return s.audit(ctx, tx, store.AuditDrain(now, settings.ActorOf(ctx), d))
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
