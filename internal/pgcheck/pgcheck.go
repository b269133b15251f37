package pgcheck

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/pgstore"
	"github.com/foliot/foliot/internal/wire"
)

const (
	// clockBound is the largest acceptable difference of two clocks. People misread
	// times beyond it, but the server alone counts delays.
	clockBound = 100 * time.Millisecond
	// longOpen is the age from which an open transaction is bad: since then PostgreSQL
	// keeps the dead rows of all claims.
	longOpen = 5 * time.Minute
	// freeConnections is the number of connections that must be free, two nodes' worth.
	freeConnections = 22
)

// seeAll is the remedy if PostgreSQL shows NULL, because the data is that of another user.
const seeAll = ": GRANT pg_read_all_stats TO the user of this URL"

// report collects the findings of one examination.
type report struct {
	ctx  context.Context
	c    pgstore.Conn
	list []wire.Finding
}

func (r *report) add(check string, ok bool, format string, args ...any) {
	r.list = append(r.list, wire.Finding{Check: check, OK: ok, Says: fmt.Sprintf(format, args...)})
}

// Examine examines the server and the tables of a store, and changes nothing. clock is
// the name of the clock with which the server's is compared. An error means that the
// store cannot be used at all.
func Examine(ctx context.Context, s pgstore.Config, clock string) ([]wire.Finding, error) {
	c, err := pgstore.Connect(ctx, s.URL)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	r := &report{ctx: ctx, c: c}
	for _, one := range []struct {
		check string
		do    func() error
	}{
		{"server", func() error { return r.server(cmp.Or(pgstore.LevelOf(s.URL), s.Durability)) }},
		{"clock", func() error { return r.clock(clock) }},
		{"format", r.format},
		{"snapshot", r.snapshots},
		{"locks", r.locks},
		{"vacuum", r.vacuum},
	} {
		if err := one.do(); err != nil {
			r.add(one.check, false, "cannot be examined: %v", err)
			if one.check == "format" { // there are no tables
				break
			}
		}
	}
	return r.list, nil
}

// server reports the settings of the server, and its standbys.
func (r *report) server(level pgstore.Durability) error {
	var version, fsync, full, commit, names string
	var free, synced, others, hidden int
	err := r.c.QueryRow(r.ctx, `SELECT current_setting('server_version'), current_setting('fsync'), current_setting('full_page_writes'),
		current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
		current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int - (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
		count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state NOT IN ('sync', 'quorum')), count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication`).
		Scan(&version, &fsync, &full, &commit, &names, &free, &synced, &others, &hidden)
	if err != nil {
		return err
	}
	r.add("server", true, "version %s", version)
	if r.c.Pooled {
		r.add("pooler", true, "a pooler is in between: if it is in transaction mode, nodes hear no messages, and tasks that another node creates for now are late by at most 250 ms, or 1.1 s after ten idle seconds; pass the address of PostgreSQL itself to avoid that")
	} else {
		r.add("pooler", true, "none")
	}
	r.add("fsync", fsync == "on" && full == "on", "fsync is %s and full_page_writes is %s%s", fsync, full, unless(fsync == "on" && full == "on", ": a crash of the machine can destroy all tasks; set both to on"))
	r.add("connections", free >= freeConnections, "%d more clients can connect%s", free, unless(free >= freeConnections, ": a node has up to 11 connections; raise max_connections, or use a pooler"))
	switch {
	case level == "strict" && names == "":
		r.add("standbys", false, "at the level strict every change is refused, because synchronous_standby_names is empty: name the standbys there, or use another --durability")
	case names != "" && synced == 0 && hidden > 0:
		r.add("standbys", true, "commits wait for %s: %d are connected, in a state that this user must not see%s", names, hidden, seeAll)
	case level == "strict" && synced == 0:
		r.add("standbys", false, "synchronous_standby_names is %q, but no such standby is connected, so every change waits: start one", names)
	case names == "":
		r.add("standbys", true, "commits wait for no standby, and %d are connected: if this server is lost, a standby can lack the last changes", others+hidden)
	default:
		r.add("standbys", synced > 0, "commits wait for %s: %d are connected, and %d others", names, synced, others)
	}
	if commit == "off" {
		r.add("commit", true, "synchronous_commit is off for this user, but Foliot sets it for each change by --durability")
	}
	return nil
}

// clock compares the server's clock with ours.
func (r *report) clock(ours string) error {
	best, ahead := time.Hour, time.Duration(0)
	for range 4 { // the fastest of several replies gives the best estimate
		var at time.Time
		sent := time.Now()
		if err := r.c.QueryRow(r.ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
			return err
		}
		if trip := time.Since(sent); trip < best {
			best, ahead = trip, at.Sub(sent.Add(trip/2))
		}
	}
	ok := ahead.Abs() <= clockBound+best/2
	r.add("clock", ok, "it differs by %v (± %v) from %s%s", ahead.Round(100*time.Microsecond), (best / 2).Round(100*time.Microsecond), ours,
		unless(ok, ": tasks with an absolute time start early or late by this much; synchronise both clocks (chrony, systemd-timesyncd)"))
	return nil
}

// format reports the tables and the rights on them.
func (r *report) format() error {
	var format, shards int
	var identity string
	if err := r.c.QueryRow(r.ctx, "SELECT format, shards, identity FROM "+r.c.Schema+".meta").Scan(&format, &shards, &identity); err != nil {
		return fmt.Errorf("%w: run foliot postgres migrate, and grant the user all rights on the schema %s and its tables", err, r.c.Schema)
	}
	r.add("format", format == pgstore.Format, "the schema %s has format %d, %d shards and the identity %s%s", r.c.Schema, format, shards, identity,
		unless(format == pgstore.Format, fmt.Sprintf(", but this version needs format %d: run foliot postgres migrate, or use the newest version", pgstore.Format)))
	if err := r.c.Safe(r.ctx); err != nil {
		r.add("rights", false, "%v", err)
	}
	var lacks []string
	err := r.c.QueryRow(r.ctx, `SELECT coalesce(array_agg(relname::text ORDER BY relname), '{}') FROM pg_class
		WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relname <> 'meta' AND NOT (has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT') AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))`, r.c.Schema).Scan(&lacks)
	if err == nil {
		r.add("rights", len(lacks) == 0, "on the tables: %s", orElse(len(lacks) == 0, "all", fmt.Sprintf("some are missing on %v: GRANT ALL ON ALL TABLES IN SCHEMA %s TO %s", lacks, r.c.Schema, pgx.Identifier{r.c.Config().User}.Sanitize())))
	}
	return err
}

// snapshots names the transactions and slots that keep PostgreSQL from removing dead rows.
// Like locks, it leaves out commits that wait for a standby: to end one would leave a commit
// that is not replicated.
func (r *report) snapshots() error {
	rows, err := r.c.Query(r.ctx, `SELECT 'pid ' || pid || ', user ' || coalesce(usename, '?') || ', application ' || coalesce(application_name, '') || ', ' || coalesce(state, 'in an unknown state'),
			(extract(epoch FROM clock_timestamp() - xact_start) * 1e9)::bigint AS age
		FROM pg_stat_activity WHERE (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL) AND pid <> pg_backend_pid() AND datname = current_database() AND wait_event IS DISTINCT FROM 'SyncRep'
		UNION ALL SELECT 'the prepared transaction ' || gid || ', which COMMIT PREPARED or ROLLBACK PREPARED ends', (extract(epoch FROM clock_timestamp() - prepared) * 1e9)::bigint FROM pg_prepared_xacts WHERE database = current_database()
		UNION ALL SELECT 'the replication slot ' || slot_name || ', which no standby uses: pg_drop_replication_slot removes it', 3600000000000 FROM pg_replication_slots WHERE NOT active AND xmin IS NOT NULL
		ORDER BY age DESC NULLS LAST LIMIT 3`)
	return r.held(rows, err, "snapshot", "no other transaction is open", longOpen, "the oldest transaction keeps all dead rows, which costs disk: end it, and set idle_in_transaction_session_timeout")
}

// locks names the connections that hold up others at the tables.
func (r *report) locks() error {
	rows, err := r.c.Query(r.ctx, `SELECT 'pid ' || w.pid || ' waits for ' || coalesce('pid ' || h.pid || ', user ' || coalesce(h.usename, '?') || ', application ' || coalesce(h.application_name, '') || ', ' || coalesce(h.state, 'in an unknown state'), 'a prepared transaction, which COMMIT PREPARED or ROLLBACK PREPARED ends'),
			(extract(epoch FROM clock_timestamp() - CASE WHEN h.pid IS NULL THEN w.query_start ELSE h.xact_start END) * 1e9)::bigint AS age
		FROM pg_stat_activity w CROSS JOIN unnest(pg_blocking_pids(w.pid)) b(pid) LEFT JOIN pg_stat_activity h ON h.pid = b.pid
		WHERE w.pid IN (SELECT pid FROM pg_locks JOIN pg_class c ON c.oid = relation WHERE c.relnamespace = $1::regnamespace) AND h.wait_event IS DISTINCT FROM 'SyncRep' ORDER BY age DESC NULLS LAST LIMIT 3`, r.c.Schema)
	return r.held(rows, err, "locks", "no statement waits for another transaction", time.Second, "changes of the locked tasks are refused with 409 locked: end the transaction, SELECT pg_terminate_backend(PID)")
}

// held adds a finding for each row with a text and an age, or nothing if there is
// no row. An age from bound on is bad.
func (r *report) held(rows pgx.Rows, err error, check, nothing string, bound time.Duration, remedy string) error {
	if err != nil {
		return err
	}
	n, text, age := 0, "", (*time.Duration)(nil) // nil: of another user
	_, err = pgx.ForEachRow(rows, []any{&text, &age}, func() error {
		if n++; age == nil {
			r.add(check, true, "%s, for an unknown time%s", text, seeAll)
		} else {
			r.add(check, *age < bound, "%s, for %v%s", text, age.Round(time.Millisecond), unless(*age < bound, ": "+remedy))
		}
		return nil
	})
	if err == nil && n == 0 {
		r.add(check, true, "%s", nothing)
	}
	return err
}

// vacuum reports the dead rows of the tables that change most.
func (r *report) vacuum() error {
	var running bool
	if err := r.c.QueryRow(r.ctx, "SELECT current_setting('autovacuum')::bool AND current_setting('track_counts')::bool").Scan(&running); err != nil {
		return err
	}
	if !running {
		r.add("vacuum", false, "autovacuum or track_counts is off, so dead rows are never removed: set both to on")
	}
	rows, err := r.c.Query(r.ctx, `SELECT relname::text, n_live_tup, n_dead_tup, coalesce(to_char(greatest(last_vacuum, last_autovacuum) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'never')
		FROM pg_stat_user_tables WHERE schemaname = trim('"' FROM $1) AND relname IN ('task', 'lease', 'news') ORDER BY relname`, r.c.Schema)
	if err != nil {
		return err
	}
	var table, last string
	var live, dead int64
	_, err = pgx.ForEachRow(rows, []any{&table, &live, &dead, &last}, func() error {
		ok := dead < 1_000_000 || dead < live
		r.add("vacuum", ok, "%s has %d rows and %d dead ones, last vacuum %s%s", table, live, dead, last, unless(ok, ": see snapshot; otherwise raise autovacuum_vacuum_cost_limit"))
		return nil
	})
	return err
}

func unless(ok bool, advice string) string { return orElse(ok, "", advice) }

func orElse(ok bool, yes, no string) string {
	if ok {
		return yes
	}
	return no
}
