package pgstore

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest/pgtest"
)

// Two stores have different locations, because a migration knows them by these.
func TestALocationSaysWhichStoreAURLNames(t *testing.T) {
	for url, want := range map[string]string{
		"postgres://foliot:sesame@db.example/shop?search_path=foliot":          "postgres://db.example/shop?search_path=foliot",
		"postgresql://foliot:a%40b@db.example:5433/shop":                       "postgres://db.example:5433/shop",
		"postgres:///shop?host=/run/postgresql&port=5433&user=foliot":          "postgres://%2Frun%2Fpostgresql:5433/shop",
		"postgres://a.example,b.example:5433/shop?sslmode=require":             "postgres://a.example,b.example:5433/shop",
		"postgres://a.example/shop?options=-csearch_path%3Dfoliot&sslmode=off": "PostgreSQL",
		"postgres://a.example/shop?options=-csearch_path%3Dfoliot":             "postgres://a.example/shop?options=-csearch_path=foliot",
		"host=db.example dbname=shop password=sesame search_path='a, b'":       "postgres://db.example/shop?search_path=a,%20b",
	} {
		if got := Location(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// The functions run with the rights of their owner, so no other role may add some.
func TestMigrateRefusesASchemaThatIsOpenToAll(t *testing.T) {
	server := pgtest.Shared(t)
	schema := server.Schema(t)
	_, err := pgtest.Psql(t.Context(), server.URL(), "GRANT CREATE ON SCHEMA "+schema+" TO PUBLIC")
	fatal.If(t, err)
	url := server.URL() + "&search_path=" + schema
	if err = Migrate(t.Context(), url); err == nil || !strings.Contains(err.Error(), "REVOKE CREATE ON SCHEMA "+schema+" FROM PUBLIC") {
		t.Errorf("%v", err)
	}
}

// A name of a channel is shorter than that of a schema can be.
func TestTheNameOfASchemaCanBeLong(t *testing.T) {
	schema := strings.Repeat("s", 63)
	url := pgtest.Shared(t).URL() + "&search_path=" + schema
	fatal.If(t, Migrate(t.Context(), url))
	s := openedAt(t, url).(*Store) //nolint:forcetypeassert // it has no other type
	defer func() { fatal.If(t, s.Close()) }()
	_, err := s.pool.Exec(t.Context(), "LISTEN "+pgx.Identifier{s.channel}.Sanitize()+"; SELECT pg_notify('"+s.channel+"', '')")
	fatal.If(t, err)
}
