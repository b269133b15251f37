package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/test/recipes"
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

// The programs connect to the database that the variables of libpq name.
func TestTheRecipesInSQLWork(t *testing.T) {
	quick.Leave(t, "starts a PostgreSQL and a server")
	port := freePort(t)
	db := pgtest.New(t, "listen_addresses=127.0.0.1", "port="+port)
	url := "postgres://postgres@127.0.0.1:" + port + "/postgres?search_path=foliot"
	newSession(t).mustBare("postgres migrate " + url)
	server := serveHere(t, "--listen", anyPort, "--store", url)
	for language, program := range map[string]string{"sql": "psql -X -v ON_ERROR_STOP=1 -f", "psycopg": "/usr/bin/python3"} {
		if language == "psycopg" && exec.CommandContext(t.Context(), program, "-c", "import psycopg").Run() != nil {
			if os.Getenv("FOLIOT_REQUIRE_PSYCOPG") != "" {
				t.Error("install psycopg: on Debian, apt-get install python3-psycopg")
			}
			continue
		}
		for _, p := range recipes.In(t, "../..", language) {
			_, err := pgtest.Psql(t.Context(), db.URL(), "DROP TABLE IF EXISTS orders; CREATE TABLE orders (id int PRIMARY KEY)")
			fatal.If(t, err)
			file := filepath.Join(t.TempDir(), p.Name)
			fatal.If(t, os.WriteFile(file, []byte(p.Code), 0o600))
			words := append(strings.Fields(program), file)
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Env = append(os.Environ(), "PGHOST=127.0.0.1", "PGPORT="+port, "PGUSER=postgres")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v:\n%s", p.Name, err, out)
			}
			p.Check(t, server.url)
			server.must("cancel", "order-42-close")
		}
	}
}
