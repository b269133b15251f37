package pgstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

const (
	// pollBusy is the time between two reads of the news if there was work within
	// busyFor. An idle node reads them after a heartbeat has found some, or if it has
	// heard nothing from the server for pollIdle.
	pollBusy, pollIdle = 250 * time.Millisecond, 1070 * time.Millisecond
	busyFor            = 10 * time.Second
	// foldMost is how many rows of news one fold deletes, and pollMost how many of their
	// tasks a poll notes at once: one transaction can write millions. A fold leaves a dead row
	// of each count, so one a second has the news of 800 tasks.
	foldMost, pollMost = 5000, 10_000
)

// nothingSeen is a snapshot, as the text of a pg_snapshot, which says what transactions a read
// has seen.
const nothingSeen = "1:1:"

// unseenIn returns the news of shards s(shard) by transactions that the snapshot $2 has not
// seen. Numbers of transactions are handed out at their first write and not at their commit, so
// a bound alone would skip the news of a transaction that commits late. By OFFSET, each range
// is one of the index: a filter would pass all dead rows, which are millions while another
// transaction holds an old snapshot.
func unseenIn(shards string) string {
	return `(SELECT n.* FROM ` + shards + `, (
		SELECT pg_snapshot_xmax($2::text::pg_snapshot) AS low, '18446744073709551615'::xid8 AS high UNION ALL SELECT x, x FROM pg_snapshot_xip($2::text::pg_snapshot) x
	) r, LATERAL (SELECT ctid, * FROM foliot.news WHERE shard = s.shard AND xid >= r.low AND xid <= r.high OFFSET 0) n) n`
}

var unseen = unseenIn("unnest($1::smallint[]) s(shard)")

// standing is what each reply has: see answer.
const standing = `(extract(epoch FROM clock_timestamp()) * 1000000)::bigint, (SELECT settings FROM foliot.version), current_setting('synchronous_standby_names') <> '', ` + identity

// readNews reads the news of shards in transactions that the read before has not seen.
var readNews = `
SELECT ` + standing + `, pg_current_snapshot()::text, n.news
FROM (SELECT) one LEFT JOIN ` + unseen + ` ON n.node <> $3`

// answer is the part of a reply that all have.
type answer struct {
	sent     time.Duration
	micros   int64  // the server's clock
	version  string // of the settings
	waits    bool   // commits wait for a standby
	identity string // of the store
}

func (s *Store) asked() *answer { return &answer{sent: s.clocks.Monotonic()} }

// answered notes a reply, or the error in its place.
func (s *Store) answered(a *answer, err error) error {
	if err = s.compare(a.identity, err); err != nil {
		return err
	}
	s.clocks.Observe("", a.micros, a.sent, s.clocks.Monotonic())
	s.waits.Store(a.waits)
	s.replied.Store(int64(time.Since(s.opened)))
	s.absent.Store(nil)
	return nil
}

// poll reads the news, and the settings if they have changed. It ends if no row arrives for
// statementEnds.
func (s *Store) poll(ctx context.Context) error {
	if err := s.polling.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.polling.Release(1)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	stalled := time.AfterFunc(statementEnds, func() { stop(errSilent) })
	defer stalled.Stop()
	var entries []task.Entry
	var pending []string
	var data []byte
	var refused error
	next, reply := "", s.asked()
	note := func() {
		if len(entries)+len(pending) > 0 {
			s.worked()
			s.added(entries)
		}
		if reply.version != s.settings.Load().version && refused == nil {
			refused = s.reload(ctx)
		}
		if refused == nil {
			s.unapplied.Add(pending...) // by settings that are as new as they are
		} else if len(pending) > 0 {
			s.postponed = true
		}
		entries, pending = nil, nil
	}
	name := s.node.Load()
	rows, err := s.pool.Query(ctx, readNews, s.schema, s.numbers(), s.last, *name)
	if err == nil {
		_, err = pgx.ForEachRow(rows, []any{&reply.micros, &reply.version, &reply.waits, &reply.identity, &next, &data}, func() error {
			stalled.Reset(statementEnds)
			if data == nil {
				return nil
			}
			var list []sqltask.News
			err := json.Unmarshal(data, &list)
			for _, n := range list {
				if n.Entry != nil {
					entries = append(entries, *n.Entry)
				}
				if n.Key != "" {
					pending = append(pending, n.Key)
				}
			}
			if err == nil && len(entries)+len(pending) > pollMost {
				note()
			}
			return err
		})
	}
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		err = errSilent
	}
	if err = s.answered(reply, err); err != nil {
		return err
	}
	note()
	if s.node.Load() == name { // else it has left out news of an unclear write: see write
		s.last = next
	}
	if refused == nil && s.postponed {
		s.postponed = false
		s.unapplied.Omit()
	}
	return refused
}

// worked records that this node has work, so that it polls more often.
func (s *Store) worked() {
	now := time.Since(s.opened)
	if before := s.busy.Swap(int64(now)); now-time.Duration(before) >= busyFor {
		s.wakePoll()
	}
}

// idleFor returns how long this node has had no work.
func (s *Store) idleFor() time.Duration { return time.Since(s.opened) - time.Duration(s.busy.Load()) }

func (s *Store) wakePoll() {
	select {
	case s.listeners.news <- struct{}{}:
	default:
	}
}

// pollAll polls, and has foldAll add up the counts, until ctx ends.
func (s *Store) pollAll(ctx context.Context) {
	polled := time.Duration(0) // after s.opened
	wait := func() time.Duration {
		if s.idleFor() < busyFor {
			return polled + pollBusy - time.Since(s.opened)
		}
		return time.Duration(s.replied.Load()) + pollIdle - time.Since(s.opened)
	}
	for {
		timer := time.NewTimer(wait())
		select {
		case <-timer.C:
			if wait() > 0 { // a heartbeat was answered
				continue
			}
		case <-s.listeners.news:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		polled = time.Since(s.opened)
		err := s.poll(ctx)
		if ctx.Err() != nil {
			return
		}
		s.failures.Note("read the news of PostgreSQL", err)
		if s.stirred.Swap(false) { // even if there are too many news to read
			select {
			case s.folds <- struct{}{}:
			default:
			}
		}
		if err != nil {
			s.absent.Store(&err)
			pause(ctx, pollBusy)
			s.wakePoll() // what woke this one is not read
		}
	}
}

// foldAll folds after polls, which do not wait for it, until ctx ends.
func (s *Store) foldAll(ctx context.Context) {
	for {
		select {
		case <-s.folds:
			s.failures.Note("add up the counts", within(ctx, s.fold))
		case <-ctx.Done():
			return
		}
	}
}

// sumsOfStates adds up the counts of each state.
var sumsOfStates = func() (sums string) {
	for s := range (task.Counts{}).States {
		sums += fmt.Sprintf(", sum((d->'States'->>%d)::bigint)", s)
	}
	return sums
}()

// foldNews deletes news that the last poll has seen but not the fold before, and adds up their counts.
var foldNews = `
WITH read AS (
	DELETE FROM foliot.news WHERE ctid = ANY(ARRAY(
		SELECT n.ctid FROM ` + unseenIn(`(SELECT o.shard FROM unnest($1::smallint[], $3::text[]) o(shard, owner) JOIN foliot.shard s ON s.n = o.shard AND (o.owner = '' OR s.owner = o.owner)) s`) + `
		WHERE pg_visible_in_snapshot(n.xid, $4::text::pg_snapshot) LIMIT $5)) RETURNING shard, news
), sums AS (
	SELECT r.shard, d->>'Namespace' AS namespace, d->>'Queue' AS queue, ARRAY[sum((d->>'Bytes')::bigint)` + sumsOfStates + `] AS n
	FROM read r, jsonb_array_elements(r.news) e, jsonb_array_elements(e->'d') d GROUP BY 1, 2, 3
), summed AS (
	SELECT shard, namespace, queue, i - 2 AS number, v.n FROM sums, unnest(n) WITH ORDINALITY v(n, i) WHERE v.n <> 0
), added AS (
	INSERT INTO foliot.count (shard, namespace, queue, number, n) SELECT * FROM summed ORDER BY 1, 2, 3, 4
	ON CONFLICT (shard, namespace, queue, number) DO UPDATE SET n = count.n + excluded.n RETURNING 1
) SELECT count(*) FROM read`

// fold moves the counts of news that were read to the table count. Each row of news
// goes to one transaction, so no difference counts twice. It reads no news that the fold
// before has deleted, because their dead rows can be many.
func (s *Store) fold(ctx context.Context) error {
	before := s.folded.Load()
	if err := s.polling.Acquire(ctx, 1); err != nil {
		return err
	}
	last := s.last // the snapshot of the last poll
	s.polling.Release(1)
	var shards []int16
	var owners []string
	for _, o := range s.member.Owned() {
		shards, owners = append(shards, int16(o.Shard)), append(owners, o.ID)
	}
	if len(shards) == 0 {
		return nil
	}
	done, err := transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: foldNews, args: []any{shards, *before, owners, last, foldMost}})
	switch {
	case err != nil:
	case done[0] < foldMost:
		s.folded.CompareAndSwap(before, &last) // unless shards were acquired since
	default: // some are left
		s.stirred.Store(true)
		s.wakePoll()
	}
	return err
}
