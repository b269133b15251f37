package pgstore

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/servertest/pgtest"
	"github.com/foliot/foliot/internal/task"
	"github.com/foliot/foliot/internal/tasktest"
)

// inPython makes a transaction that commits and one that rolls back. PostgreSQL converts
// the types of Python, and errors have the codes of the functions.
const inPython = `
import datetime, os, psycopg
from psycopg.types.json import Jsonb
with psycopg.connect(os.environ["PGURL"]) as c:
    with c.transaction():
        c.execute("CREATE TABLE orders (id int)")
        c.execute("INSERT INTO orders VALUES (42)")
        id, = c.execute("SELECT put('order-42-close', url => %s, delay => %s, body => %s, labels => %s)", (
            "https://shop.example/close", datetime.timedelta(minutes=30), Jsonb({"order": 42}), Jsonb({"of": "shop"}))).fetchone()
        state, = c.execute("SELECT cancel(%s)", ("order-42-remind",)).fetchone()
        c.execute("SELECT put('at', 'https://shop.example/', at => %s, body_bytes => %s)", (datetime.datetime(2099, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc), b"\x00"))
    try:
        with c.transaction():
            c.execute("SELECT put('rolled-back', 'https://shop.example/', delay => '1 h')")
            c.execute("SELECT touch('at')")
    except psycopg.Error as e:
        print(len(id), state, e.sqlstate)
`

// inNode does the same in Node.
const inNode = `
const { Client } = require('pg')
async function main() {
  const c = new Client({ connectionString: process.env.PGURL, options: process.env.PGOPTIONS })
  await c.connect()
  const one = async (sql, args) => Object.values((await c.query({ text: 'SELECT ' + sql, values: args })).rows[0])[0]
  await c.query('BEGIN')
  await c.query('CREATE TABLE orders (id int)')
  await c.query('INSERT INTO orders VALUES ($1)', [42])
  const id = await one("put('order-42-close', url => $1, delay => $2, body => $3, labels => $4)", ['https://shop.example/close', '30 min', { order: 42 }, { of: 'shop' }])
  const state = await one('cancel($1)', ['order-42-remind'])
  await one("put('at', 'https://shop.example/', at => $1, body_bytes => $2)", [new Date('2099-01-02T03:04:05Z'), Buffer.from([0])])
  await c.query('COMMIT')
  await c.query('BEGIN')
  await one("put('rolled-back', 'https://shop.example/', delay => '1 h')")
  const code = await one("touch('at')").catch(e => e.code)
  await c.query('ROLLBACK')
  await c.end()
  console.log(id.length, state, code)
}
main()
`

// inPsql does the same in psql, in one transaction.
const inPsql = `
CREATE TABLE orders (id int);
INSERT INTO orders VALUES (42);
SELECT put('at', 'https://shop.example/', at => '2099-01-02T03:04:05Z', body_bytes => '\x00');
SELECT length(put('order-42-close', delay => '30 min', url => 'https://shop.example/close', body => '{"order":42}', labels => '{"of":"shop"}')), cancel('order-42-remind')`

// The variables that turn a missing client of PostgreSQL into a failure. That of Node is
// the directory in which npm has installed pg.
const requirePsycopg, nodePG = "FOLIOT_REQUIRE_PSYCOPG", "FOLIOT_NODE_PG"

// interpreter returns the first program that runs a check.
func interpreter(t *testing.T, names, env []string, required, check, remedy string) *exec.Cmd {
	t.Helper()
	for _, name := range names {
		cmd := exec.CommandContext(t.Context(), name, check[:2], check[3:])
		if cmd.Env = append(os.Environ(), env...); cmd.Run() == nil {
			run := exec.CommandContext(t.Context(), name, check[:2])
			run.Env = cmd.Env
			return run
		}
	}
	if os.Getenv(required) != "" {
		t.Fatalf("%s is set, and %s", required, remedy)
	}
	t.Skip(remedy)
	return nil
}

func TestProgramsInOtherLanguagesCallTheFunctions(t *testing.T) {
	for _, language := range []string{"psql", "python", "node"} {
		t.Run(language, func(t *testing.T) {
			f := openFunctions(t)
			url := strings.Replace(f.config.URL, "search_path=", "options=-csearch_path%3D", 1) // libpq knows no parameter search_path
			var out string
			switch language {
			case "psql":
				var err error
				out, err = pgtest.Psql(t.Context(), url, inPsql)
				fatal.If(t, err)
				out = strings.ReplaceAll(out[strings.LastIndex(out, "\n")+1:], "|", " ") + " FL007" // psql 15 prints the rows of all statements
			case "python":
				out = runProgram(t, interpreter(t, []string{"python3", "/usr/bin/python3"}, nil, requirePsycopg, "-c import psycopg", "there is no Python with psycopg: install it (Debian: apt-get install python3-psycopg)"), inPython, url)
			case "node":
				modules := []string{"NODE_PATH=" + filepath.Join(os.Getenv(nodePG), "node_modules")}
				out = runProgram(t, interpreter(t, []string{"node"}, modules, nodePG, "-e require('pg')", "there is no package pg of npm: run npm install pg in a directory, and set FOLIOT_NODE_PG to it"), inNode, url)
			}
			if out != "36 none FL007" {
				t.Errorf("it prints %q", out)
			}
			got := f.get(tasktest.Key("order-42-close"))
			if string(got.Request.Body) != `{"order": 42}` || got.Delay.Minutes() != 30 || got.Labels["of"] != "shop" || got.Request.BodyKind != task.JSONBody {
				t.Errorf("%+v", got)
			}
			if at := f.get(tasktest.Key("at")); at.Due.Time().UTC().Format("2006-01-02T15:04:05Z") != "2099-01-02T03:04:05Z" || string(at.Request.Body) != "\x00" {
				t.Errorf("%+v", at)
			}
			if f.get(tasktest.Key("rolled-back")) != nil || f.number("SELECT id FROM orders") != 42 {
				t.Error("a transaction was not applied as a whole")
			}
		})
	}
}

// runProgram runs a program of an interpreter, and returns its output.
func runProgram(t *testing.T, cmd *exec.Cmd, program, url string) string {
	t.Helper()
	cmd.Args = append(cmd.Args, program)
	cmd.Env = append(cmd.Env, "PGURL="+url)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
