package pgstore

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/kernel"
	"github.com/foliot/foliot/internal/store/sqltask"
	"github.com/foliot/foliot/internal/task"
)

// reader implements kernel.Reader. The indexes have one part, except that the part
// of a lane is its shard.
type reader struct{ *Store }

func (r reader) Parts() int { return 1 }

func (r reader) Batch() int { return 128 }

func (r reader) Scan(ctx context.Context, ranges []kernel.Range) ([][]string, error) {
	if ranges[0].Index == kernel.ByDue {
		return kernel.ScanLanes(ctx, ranges, math.MaxInt64, r.readLanes)
	}
	all := make([][]string, len(ranges))
	for i, one := range ranges { // there are one or two
		namespace, places, err := one.Lane.Namespace+"/", []string(nil), error(nil)
		if one.Index == kernel.ByName {
			to := one.Lane.Namespace + "0" // it follows the slash
			if one.To != "" {
				to = namespace + one.To
			}
			places, err = query(ctx, r.Store, pgx.RowTo[string], `SELECT key FROM foliot.task WHERE key >= $1 AND key < $2 ORDER BY key LIMIT $3`, namespace+textOf(one.From), textOf(to), one.Limit)
		} else {
			namespace = string(sqltask.Ended(one.Lane.Namespace, one.Index == kernel.DeadByEnd, ""))
			to := namespace[:len(namespace)-1] + string(namespace[len(namespace)-1]+1)
			if one.To != "" {
				to = namespace + one.To
			}
			var found [][]byte
			found, err = query(ctx, r.Store, pgx.RowTo[[]byte], "SELECT ended FROM foliot.task WHERE ended >= $1 AND ended < $2 ORDER BY ended LIMIT $3", []byte(namespace+one.From), []byte(to), one.Limit)
			for _, place := range found {
				places = append(places, string(place))
			}
		}
		if err != nil {
			return nil, err
		}
		for n, place := range places {
			places[n] = strings.TrimPrefix(place, namespace)
		}
		all[i] = places
	}
	return all, nil
}

// textOf returns a text that sorts like s among names: the database has no zero bytes.
func textOf(s string) string { return strings.ReplaceAll(s, "\x00", "\x01") }

// Records implements kernel.Reader.
func (r reader) Records(ctx context.Context, keys []task.Key, f *task.Filter, bodies bool) ([]*task.Task, error) {
	return kernel.ReadTasks(ctx, keys, f, bodies, r.tasks)
}

// tasks returns tasks, nil if they do not exist, with their bodies if bodies is true.
func (s *Store) tasks(ctx context.Context, keys []task.Key, bodies bool) ([]*task.Task, error) {
	got, err := s.read(ctx, keys, slices.Repeat([]bool{bodies}, len(keys)))
	all := make([]*task.Task, len(got))
	for i, f := range got {
		err = cmp.Or(err, f.Err)
		if f.Task == nil {
			continue
		}
		if all[i] = f.Task.WithoutBody(); bodies { // that of a pending put is loaded
			all[i] = f.WithBody()
		}
	}
	return all, err
}

// Lanes implements kernel.Reader.
func (r reader) Lanes(ctx context.Context, read kernel.LaneRead) (kernel.Lanes, error) {
	found, err := r.heads(ctx, nil, read.Until)
	all := kernel.Lanes{End: math.MaxInt64, Examined: len(found)}
	for _, h := range found {
		if read.Selects(h.Lane) {
			all.Heads = append(all.Heads, kernel.Head{Lane: h.Lane, Part: int(h.shard), Low: task.Position{Due: h.Due}})
		}
	}
	return all, err
}

// Count implements kernel.Reader.
func (r reader) Count(ctx context.Context, ranges []kernel.Range, read *store.DueRead, found store.DueFound) ([]kernel.Counted, error) {
	type lane struct {
		Shard int16
		Lane  int64
	}
	rows, costs, bounds := make([]lane, len(ranges)), make([]kernel.Counted, len(ranges)), make([]int64, len(read.Bounds))
	for i, one := range ranges {
		rows[i], costs[i].Cost = lane{int16(one.Part), sqltask.Lane(one.Lane)}, kernel.SeekCost
	}
	for i, b := range read.Bounds {
		bounds[i] = int64(b)
	}
	_, err := query(ctx, r.Store, func(row pgx.CollectableRow) (struct{}, error) {
		var at, interval, tasks int
		err := row.Scan(&at, &interval, &tasks)
		found(ranges[at].Lane, interval, tasks)
		costs[at].Cost += tasks
		return struct{}{}, err
	}, `
SELECT u.ord - 1, t.interval, t.n FROM `+inputOf[lane]()+`,
LATERAL (SELECT width_bucket(look, $3::bigint[]) AS interval, count(*) AS n FROM foliot.task WHERE shard = u.shard AND lane = u.lane AND look < $4 AND NOT running GROUP BY 1) t`,
		columns(rows, bounds, bounds[len(bounds)-1])...)
	return costs, err
}
