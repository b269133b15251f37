package pgstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/foliot/foliot/internal/task"
)

// Example is a URL, for messages.
const Example = "postgres://USER:PASSWORD@HOST/DATABASE?search_path=SCHEMA"

// Parse returns the settings of connections to a URL, or to a connection string of
// libpq, which can have the parameter durability too. Errors quote nothing, because a password with an @ or a / splits the URL, so
// any part may contain a piece of it.
func Parse(text string) (*pgxpool.Config, error) {
	c, _, err := parse(text)
	return c, err
}

// parse is Parse, and returns the search_path too, which poolers refuse.
func parse(text string) (c *pgxpool.Config, path string, err error) {
	c, err = pgxpool.ParseConfig(text)
	if err != nil || strings.Contains(c.ConnConfig.Host+c.ConnConfig.Database, "@") {
		return nil, "", errors.New("the URL of a PostgreSQL cannot be parsed: check its parameters, and in a password write %40 for @, %2F for /, %3A for :, %3F for ?, %23 for # and %25 for %; its form is " + Example)
	}
	c.ConnConfig.ConnectTimeout = cmp.Or(c.ConnConfig.ConnectTimeout, 3*time.Second) // otherwise minutes
	params := c.ConnConfig.RuntimeParams
	switch level := Durability(params["durability"]); level {
	case "", asyncLevel, defaultLevel, strictLevel:
	default:
		return nil, "", errors.New("durability must be async, default or strict in the URL of a PostgreSQL")
	}
	path = params["search_path"]
	delete(params, "search_path")
	delete(params, "durability")
	if params["application_name"] == "" {
		params["application_name"] = "foliot"
	}
	return c, path, nil
}

// LevelOf returns the level that a valid URL or connection string names, "" if none.
func LevelOf(text string) Durability {
	c, err := pgconn.ParseConfig(text)
	if err != nil {
		return ""
	}
	return Durability(c.RuntimeParams["durability"])
}

// Location returns a URL with the parts of a valid URL or connection string that
// identify the store, without credentials.
func Location(text string) string {
	c, path, err := parse(text)
	if err != nil {
		return "PostgreSQL"
	}
	one, hosts, params := c.ConnConfig, []string(nil), []string(nil)
	for _, at := range append([]*pgconn.FallbackConfig{{Host: one.Host, Port: one.Port}}, one.Fallbacks...) { // with TLS and without
		host := strings.TrimSuffix(net.JoinHostPort(at.Host, strconv.Itoa(int(at.Port))), ":5432")
		hosts = append(hosts, strings.ReplaceAll(host, "/", "%2F")) // a socket
	}
	for _, p := range [][2]string{{"search_path", path}, {"options", one.RuntimeParams["options"]}} {
		if p[1] != "" {
			params = append(params, p[0]+"="+strings.ReplaceAll(url.PathEscape(p[1]), "%2C", ","))
		}
	}
	at := "postgres://" + strings.Join(slices.Compact(hosts), ",") + "/" + url.PathEscape(one.Database)
	if len(params) > 0 {
		at += "?" + strings.Join(params, "&")
	}
	return at
}

// remedies has the advice for errors of PostgreSQL, by SQLSTATE.
var remedies = map[string]string{
	undefinedTable: "the schema has no tables: run foliot postgres migrate",
	"28P01":        "pass a valid user and password, USER:PASSWORD@ before the host",
	"28000":        "pass a valid user and password, USER:PASSWORD@ before the host, and allow the user in pg_hba.conf",
	"3D000":        "correct the name of the database after the host, or create it: CREATE DATABASE",
	starting:       "wait until it is ready",
	"08P01":        "a pooler such as PgBouncer refuses this: check its log, and whether it reaches PostgreSQL",
	notAllowed:     "grant the user CREATE on the database for foliot postgres migrate, and all rights on the schema and its tables",
	"42703":        "another program has a table of this name: name a schema of its own with search_path",
}

// explain names the store to an error of an action, and adds advice.
func explain(action, url string, err error) error {
	if err == nil {
		return nil
	}
	remedy, unavailable := "", errors.Is(failure(err), task.ErrUnavailable)
	if refused, is := errors.AsType[*pgconn.PgError](err); is {
		err, remedy = refused, ": "+cmp.Or(remedies[refused.Code], "this is an error of PostgreSQL itself: check its log")
	} else if absent, is := errors.AsType[*pgconn.ConnectError](err); is {
		lines := slices.Compact(strings.Split(absent.Unwrap().Error(), "\n")) // one for each address, with TLS and without
		err, remedy = errors.New(strings.Join(lines, "; ")), ": check that it runs, that the address and sslmode are correct, and that no firewall blocks the connection"
	}
	if unavailable {
		err = task.Unavailable(err)
	}
	return fmt.Errorf("%s the store at %s: %w%s", action, Location(url), err, remedy)
}

// examine refuses a server that cannot hold a store, and finds the schema of path.
func (c *Conn) examine(ctx context.Context, path string) error {
	number, version, readOnly := 0, "", false
	err := c.QueryRow(ctx, "SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_setting('transaction_read_only')::bool, pg_backend_pid() <> $2::bigint, ("+target+")",
		path, int64(c.PgConn().PID())).Scan(&number, &version, &readOnly, &c.Pooled, &c.Schema)
	switch {
	case err != nil:
		return err
	case number < 140000:
		return fmt.Errorf("PostgreSQL %s is too old: use PostgreSQL 14 or newer", version)
	case readOnly:
		return errors.New("PostgreSQL takes no writes. If it is a standby, pass the address of the primary, or all addresses with target_session_attrs=read-write after a ?; otherwise turn default_transaction_read_only off")
	}
	return nil
}
