package pgstore

import (
	"context"
	"embed"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/store/sqltask"
)

// files has the SQL that makes each format of the tables from the one before, which writes its
// number to meta, and functionsSQL that of the SQL functions of the newest format.
var (
	//go:embed schema/0*.sql
	files embed.FS
	//go:embed schema/functions.sql
	functionsSQL string
)

// Format is the number of the newest file.
const Format = 1

// Migrate gives a store the newest tables, in the first schema of search_path, which
// it makes if it does not exist.
func Migrate(ctx context.Context, url string) error {
	_, err := Plan(ctx, url, true)
	return err
}

// Plan returns the SQL of Migrate, "" if the tables and the functions are the newest. If run is set, it
// runs the SQL.
func Plan(ctx context.Context, url string, run bool) (sql string, err error) {
	c, err := Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	err = pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if err := c.Safe(ctx); err != nil {
			return err
		}
		if sql, err = missing(ctx, tx, c.Schema); err == nil && run {
			_, err = tx.Exec(ctx, sql)
		}
		return err
	})
	return sql, explain("migrate", url, err)
}

// Safe returns an error if every role can make functions in the schema. One with the name
// of a helper could run with the rights of the owner.
func (c *Conn) Safe(ctx context.Context) error {
	open := false
	err := c.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_namespace, aclexplode(nspacl) a WHERE pg_namespace.oid = to_regnamespace($1) AND a.grantee = 0 AND a.privilege_type = 'CREATE')`, c.Schema).Scan(&open)
	if err == nil && open {
		err = fmt.Errorf("every role can make functions in the schema %s, and so get the rights of its owner: run REVOKE CREATE ON SCHEMA %s FROM PUBLIC, or name another schema with search_path", c.Schema, c.Schema)
	}
	return err
}

// target is the first schema of $1 or else of search_path, quoted, although PostgreSQL
// skips it if it does not exist.
const target = `SELECT quote_ident(CASE
		WHEN first IN ('"$user"', '$user') THEN coalesce(current_schema(), 'public')
		WHEN first LIKE '"%' THEN trim('"' FROM first) ELSE lower(trim(first)) END)
	FROM split_part(coalesce(nullif($1, ''), current_setting('search_path')), ',', 1) AS first`

// missing returns the SQL that makes the newest tables.
func missing(ctx context.Context, tx pgx.Tx, schema string) (sql string, err error) {
	version := fmt.Sprintf("functions %x", sqltask.Hash(functionsSQL)) // they change without a new format
	isNew, hasTables, from := false, false, 0
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NULL, to_regclass($1 || '.meta') IS NOT NULL FROM pg_advisory_xact_lock(hashtext('foliot migrate'))", schema).Scan(&isNew, &hasTables); err != nil {
		return "", err
	}
	if hasTables {
		current := false
		if err := tx.QueryRow(ctx, "SELECT format, coalesce(obj_description(to_regprocedure($1 || '.refuse(text, text)'), 'pg_proc') = $2, false) FROM "+schema+".meta", schema, version).Scan(&from, &current); err != nil || from == Format && current {
			return "", err
		} else if from > Format {
			return "", wrongFormat(from)
		}
	}
	if isNew {
		sql = "CREATE SCHEMA " + schema + ";\n"
	}
	sql += "SET LOCAL search_path = " + schema + ", pg_temp;\n" // last, or temporary tables would hide those of the functions
	for n := from + 1; n <= Format; n++ {
		text, err := files.ReadFile(fmt.Sprintf("schema/%04d.sql", n))
		if err != nil {
			return "", err
		}
		sql += string(text)
	}
	return sql + functionsSQL + "\nCOMMENT ON FUNCTION refuse(text, text) IS '" + version + "';\n", nil
}

// wrongFormat is the error for tables of another format.
func wrongFormat(found int) error {
	return fmt.Errorf("the tables have format %d, and this version needs format %d: run foliot postgres migrate, or use the newest version", found, Format)
}
