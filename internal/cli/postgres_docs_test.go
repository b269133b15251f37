package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest/pgtest"
)

// TestThePostgreSQLPageWorks runs the blocks of shell and SQL of the page, in their
// order, against a PostgreSQL. Its superuser owns the database. The first
// block of SQL is for the user foliot, and the second for the role shop.
func TestThePostgreSQLPageWorks(t *testing.T) {
	quick.Leave(t, "starts a PostgreSQL and a server")
	port := freePort(t)
	pgtest.New(t, "listen_addresses=127.0.0.1", "port="+port)
	listen := "127.0.0.1:" + freePort(t)
	var script strings.Builder
	script.WriteString("trap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\ncreatedb shop\npsql -q -d shop -c 'CREATE ROLE shop LOGIN' -c 'CREATE SCHEMA shop AUTHORIZATION shop'\n")
	roles := []string{"foliot", "shop"} // of the blocks of SQL; the table of the page is in the schema shop
	for _, block := range regexp.MustCompile("(?s)\n```(sh|sql)\n(.*?)\n```").FindAllStringSubmatch(page(t, "postgres.md"), -1) {
		if block[1] == "sh" {
			script.WriteString(strings.ReplaceAll(block[2], "@127.0.0.1/", "@127.0.0.1:"+port+"/") + "\n")
			continue
		}
		if len(roles) == 0 {
			t.Fatal("the page has a third block of SQL")
		}
		script.WriteString("psql -X -U " + roles[0] + " -d shop -v ON_ERROR_STOP=1 <<'SQL'\n" + block[2] + "\nSQL\n")
		roles = roles[1:]
	}
	out, err := shell(t, "psql", "createdb", "pg_dump")(script.String(), "PGHOST=127.0.0.1", "PGPORT="+port, "PGUSER=postgres", "FOLIOT_LISTEN="+listen, "FOLIOT_SERVER=http://"+listen)
	if t.Logf("%s", out); err != nil {
		t.Fatal(err)
	}
}
