package pgstore

import (
	"cmp"
	"context"
	"encoding/json"
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

// registry is the membership.Registry in the tables node and shard.
type registry struct{ *Store }

// keepDead is how long a node without heartbeats stays in the list for operators, and
// forgotten, in silences, how long it counts among the nodes.
const (
	keepDead  = time.Hour
	forgotten = 10
)

// peer is a row of the table node.
type peer struct {
	membership.Peer
	drained string
	forced  bool
}

// serverTime is the server's clock in milliseconds, rounded down: a cast to bigint
// would round up, and now() is the begin of the transaction.
const serverTime = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// Beat implements membership.Registry. A heartbeat locks the rows of all nodes, so
// heartbeats come one after the other.
func (r registry) Beat(ctx context.Context, mode membership.Mode, self *membership.Peer, silence time.Duration) (n membership.Nodes, err error) {
	writes := mode != membership.ReadOnly && mode != membership.ReadAll
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if writes {
			if _, err := tx.Exec(ctx, "SELECT set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '1s', true), pg_advisory_xact_lock($1)", lockNodes); err != nil {
				return err
			}
		}
		var now int64
		if err := tx.QueryRow(ctx, "SELECT "+serverTime).Scan(&now); err != nil {
			return err
		}
		n.Now = task.Millis(now)
		peers, err := readPeers(ctx, tx)
		if err != nil {
			return err
		}
		if writes {
			n.Found, err = r.write(ctx, tx, mode, self, silence, n.Now, &peers)
		}
		if err == nil {
			err = r.forget(ctx, tx, silence, n.Now, &peers, writes)
		}
		for _, p := range peers {
			if !p.Dead || mode == membership.ReadAll {
				p.Draining = p.drained != "" && p.drained == p.Nonce
				p.Forced = p.Draining && p.forced
				n.Peers = append(n.Peers, p.Peer)
			}
		}
		return err
	})
	return n, err
}

// lockNodes is the lock of heartbeats. Locks of namespaces are hashes.
const lockNodes = 1

func readPeers(ctx context.Context, tx pgx.Tx) ([]peer, error) {
	rows, err := tx.Query(ctx, "SELECT name, twin, nonce, beat, about, dead, drained, forced FROM node ORDER BY name, twin")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (p peer, err error) {
		var name, nonce string
		var beat int64
		var twin, dead bool
		var about []byte
		if err = row.Scan(&name, &twin, &nonce, &beat, &about, &dead, &p.drained, &p.forced); err == nil {
			err = json.Unmarshal(about, &p.Peer)
		}
		p.Name, p.Duplicate, p.Nonce, p.Beat, p.Dead = name, twin, nonce, task.Millis(beat), dead
		return p, err
	})
}

// write writes the heartbeat of self. A name belongs to the first process that has it,
// until that one leaves or is silent.
func (r registry) write(ctx context.Context, tx pgx.Tx, mode membership.Mode, self *membership.Peer, silence time.Duration, now task.Millis, peers *[]peer) (found membership.Found, err error) {
	at := func(twin bool) int {
		return slices.IndexFunc(*peers, func(p peer) bool { return p.Name == self.Name && p.Duplicate == twin && !p.Dead })
	}
	remove := func(i int) error {
		p := (*peers)[i]
		*peers = slices.Delete(*peers, i, i+1)
		_, err := tx.Exec(ctx, "DELETE FROM node WHERE name = $1 AND twin = $2", p.Name, p.Duplicate)
		return err
	}
	if i := at(true); i >= 0 && (*peers)[i].Nonce == self.Nonce {
		if err := remove(i); err != nil {
			return 0, err
		}
	}
	i := at(false)
	ours := i >= 0 && (*peers)[i].Nonce == self.Nonce
	keeps := silence
	if mode == membership.KeepName {
		keeps = forgotten * silence
	}
	twin := false
	switch {
	case mode == membership.Leave:
		if ours { // otherwise another process has its name by now
			return membership.Moved, remove(i)
		}
		return 0, nil
	case !ours && (mode == membership.NoName || i >= 0 && now.Sub((*peers)[i].Beat) <= keeps):
		twin, found = true, membership.Other
	case !ours:
		found = membership.Moved
	}
	p := peer{Peer: *self}
	if !twin && i >= 0 {
		p.drained, p.forced = (*peers)[i].drained, (*peers)[i].forced
		*peers = slices.Delete(*peers, i, i+1)
	}
	p.Beat, p.Duplicate = now, twin
	*peers = append(*peers, p)
	slices.SortStableFunc(*peers, func(a, b peer) int { return cmp.Compare(a.Name, b.Name) })
	about, err := json.Marshal(self)
	if err == nil {
		_, err = tx.Exec(ctx, `INSERT INTO node (name, twin, nonce, beat, about) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (name, twin) DO UPDATE SET nonce = excluded.nonce, beat = excluded.beat, about = excluded.about, dead = false`, self.Name, twin, self.Nonce, int64(now), about)
	}
	return found, err
}

// forget marks silent nodes as dead, and removes them later. A heartbeat after now was
// written before the clock was set back: its node expires from now on.
func (r registry) forget(ctx context.Context, tx pgx.Tx, silence time.Duration, now task.Millis, peers *[]peer, writes bool) error {
	var b pgx.Batch
	*peers = slices.DeleteFunc(*peers, func(p peer) bool {
		silent := now.Sub(p.Beat)
		gone := p.Duplicate && silent > forgotten*silence || p.Dead && silent > keepDead
		if gone {
			b.Queue("DELETE FROM node WHERE name = $1 AND twin = $2", p.Name, p.Duplicate)
		}
		return gone
	})
	for i := range *peers {
		p := &(*peers)[i]
		switch silent := now.Sub(p.Beat); {
		case silent < 0:
			p.Beat = now
			b.Queue("UPDATE node SET beat = $3 WHERE name = $1 AND twin = $2", p.Name, p.Duplicate, int64(now))
		case !p.Dead && silent > forgotten*silence:
			p.Dead = true
			b.Queue("UPDATE node SET dead = true WHERE name = $1 AND twin = $2", p.Name, p.Duplicate)
		}
	}
	if !writes || b.Len() == 0 {
		return nil
	}
	return tx.SendBatch(ctx, &b).Close()
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
func (r registry) Publish(ctx context.Context, node string, sums []byte) error {
	_, err := r.pool.Exec(ctx, "UPDATE node SET sums = $2 WHERE name = $1 AND NOT twin", node, sums)
	return err
}

// Published implements membership.Registry.
func (r registry) Published(ctx context.Context) (map[string][]byte, error) {
	type sums struct {
		Name string
		Sums []byte
	}
	all, err := query(ctx, r.Store, byPosition[sums], "SELECT name, sums FROM node WHERE sums IS NOT NULL")
	of := map[string][]byte{}
	for _, s := range all {
		of[s.Name] = s.Sums
	}
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
	return call(ctx, s, func() ([]store.Node, error) {
		if s.config.CallersClock {
			return []store.Node{s.member.Alone(s.now())}, nil
		}
		return s.member.Nodes(ctx)
	})
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
		return none, pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return s.drain(ctx, tx, now, d) })
	})
	if err == nil {
		s.notify("nodes")
	}
	return err
}

func (s *Store) drain(ctx context.Context, tx pgx.Tx, now task.Millis, d store.Drain) error {
	var at int64
	if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', '1s', true), pg_advisory_xact_lock($1)", lockNodes); err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "SELECT "+serverTime).Scan(&at); err != nil {
		return err
	}
	peers, err := readPeers(ctx, tx)
	if err != nil {
		return err
	}
	var self *peer
	others := false
	for i, p := range peers {
		if p.Duplicate || p.Dead || task.Millis(at).Sub(p.Beat) > s.silence() {
			continue
		}
		if p.Name == d.Node {
			self = &peers[i]
		} else {
			others = others || p.drained != p.Nonce
		}
	}
	nonce := ""
	if self != nil && !d.Undo {
		nonce = self.Nonce
	}
	switch {
	case self == nil:
		return &settings.MissingError{What: "node", Name: d.Node}
	case self.drained == nonce && (d.Undo || self.forced == d.Force), d.Undo && self.drained == "":
		return nil
	case !d.Undo && !d.Force && !others:
		return store.ErrLastNode
	}
	if _, err := tx.Exec(ctx, "UPDATE node SET drained = $2, forced = $3 WHERE name = $1 AND NOT twin", d.Node, nonce, d.Force); err != nil {
		return err
	}
	return audit(ctx, tx, store.AuditDrain(now, settings.ActorOf(ctx), d))
}

// Release gives all shards to the other nodes for good: see membership.Member. Close
// begins with it.
func (s *Store) Release() { s.member.Release() }

// Owns reports whether this node owns the shard of a task, without I/O.
func (s *Store) Owns(key task.Key) bool { return s.shard(s.shardOf(key)) != nil }
