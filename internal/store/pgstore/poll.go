package pgstore

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/task"
)

// A snapshot says which transactions a read has seen: those before xmax that are not
// in xip.
type snapshot struct {
	xmin, xmax int64
	xip        []int64
}

const (
	// pollBusy is the time between two reads of the news if there was work within
	// busyFor, and pollIdle otherwise.
	pollBusy, pollIdle = 250 * time.Millisecond, time.Second
	busyFor            = 10 * time.Second
	// foldEvery is the time between two deletions of news that were read, and foldMost how
	// many rows one deletes: while no node ran, others may have written millions.
	foldEvery = time.Second
	foldMost  = 10_000
)

// readNews reads the server's clock, the version of the settings, and the news of
// shards in transactions that the snapshot before has not seen. Numbers of
// transactions are handed out at their first write and not at their commit, so a bound
// alone would skip the news of a transaction that commits late.
const readNews = `
WITH s AS MATERIALIZED (SELECT pg_current_snapshot() AS s, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS micros)
SELECT micros, pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint, ARRAY(SELECT x::text::bigint FROM pg_snapshot_xip(s) x),
	(SELECT settings FROM version), pg_postmaster_start_time(), current_setting('synchronous_standby_names') <> '', n.news
FROM s LEFT JOIN news n ON n.shard = ANY($1::smallint[]) AND n.node <> $2 AND (n.xid >= $3::text::xid8 OR n.xid = ANY($4::text[]::xid8[]))`

// poll reads the news, and the settings if they have changed.
func (s *Store) poll(ctx context.Context) error {
	s.polling.Lock()
	defer s.polling.Unlock()
	last := s.last
	xip := make([]string, len(last.xip))
	for i, x := range last.xip {
		xip[i] = strconv.FormatInt(x, 10)
	}
	var entries []task.Entry
	var micros int64
	version, next := "", snapshot{}
	var started time.Time
	waits := false
	sent := s.clocks.Monotonic()
	_, err := query(ctx, s, func(row pgx.CollectableRow) (none struct{}, err error) {
		var data []byte
		if err := row.Scan(&micros, &next.xmin, &next.xmax, &next.xip, &version, &started, &waits, &data); err != nil || data == nil {
			return none, err
		}
		var list []news
		err = json.Unmarshal(data, &list)
		for _, n := range list {
			if n.Entry != nil {
				entries = append(entries, *n.Entry)
			}
		}
		return none, err
	}, readNews, s.numbers(), s.node, strconv.FormatInt(last.xmax, 10), xip)
	if err != nil {
		return err
	}
	s.clocks.Observe("", micros, sent, s.clocks.Monotonic())
	s.last = next
	s.waits.Store(waits)
	if !s.started.Equal(started) { // a crash may have undone claims of tasks below the marks
		if err := s.survey(ctx, s.member.Owned()); err != nil {
			return err
		}
		s.started = started
	}
	if len(entries) > 0 {
		s.worked()
		s.added(entries)
	}
	if version != s.settings.Load().version {
		return s.reload(ctx)
	}
	return nil
}

// worked records that this node has work, so that it polls more often.
func (s *Store) worked() { s.busy.Store(int64(time.Since(s.opened))) }

// pollAll polls and folds, until ctx ends.
func (s *Store) pollAll(ctx context.Context) {
	folded := time.Now()
	for ctx.Err() == nil {
		pause := pollIdle
		if time.Since(s.opened)-time.Duration(s.busy.Load()) < busyFor {
			pause = pollBusy
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.listeners.news:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return
		}
		err := within(ctx, s.poll)
		if s.absent.Store(&err); ctx.Err() == nil {
			s.note("read the news of PostgreSQL", err)
		}
		if err == nil && time.Since(folded) >= foldEvery {
			if folded = time.Now(); ctx.Err() == nil {
				s.note("add up the counts", within(ctx, s.fold))
			}
		}
	}
}

func within(ctx context.Context, do func(context.Context) error) error {
	ctx, stop := context.WithTimeout(ctx, statementEnds)
	defer stop()
	return do(ctx)
}

// fold moves the counts of news that were read to the table count. Each row of news
// goes to one transaction, so no difference counts twice.
func (s *Store) fold(ctx context.Context) error {
	s.polling.Lock()
	xmin := s.last.xmin
	s.polling.Unlock()
	var shards []int16
	var owners []string
	for _, o := range s.member.Owned() {
		shards, owners = append(shards, int16(o.Shard)), append(owners, o.ID)
	}
	if len(shards) == 0 {
		return nil
	}
	_, err := transact(ctx, s, pgx.RowTo[int64], change{how: unsynced, sql: `
WITH read AS (
	DELETE FROM news WHERE ctid = ANY(ARRAY(
		SELECT n.ctid FROM news n JOIN unnest($1::smallint[], $2::text[]) o(shard, owner) USING (shard) JOIN shard s ON s.n = o.shard AND (o.owner = '' OR s.owner = o.owner)
		WHERE n.xid < $3::text::xid8 LIMIT $4)) RETURNING shard, news
), summed AS (
	SELECT r.shard, d->>'Namespace' AS namespace, d->>'Queue' AS queue, x.number, sum(x.n) AS n
	FROM read r, jsonb_array_elements(r.news) e, jsonb_array_elements(e->'d') d,
		LATERAL (SELECT i - 1 AS number, v::bigint AS n FROM jsonb_array_elements_text(d->'States') WITH ORDINALITY v(v, i) UNION ALL SELECT -1, (d->>'Bytes')::bigint) x
	GROUP BY 1, 2, 3, 4 HAVING sum(x.n) <> 0
), added AS (
	INSERT INTO count (shard, namespace, queue, number, n) SELECT * FROM summed ORDER BY 1, 2, 3, 4
	ON CONFLICT (shard, namespace, queue, number) DO UPDATE SET n = count.n + excluded.n RETURNING 1
) SELECT count(*) FROM added`, args: []any{shards, owners, strconv.FormatInt(xmin, 10), foldMost}})
	return err
}
