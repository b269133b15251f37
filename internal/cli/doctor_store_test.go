package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/wire"
)

// rowsOf parses findings in JSON lines.
func rowsOf(t *testing.T, text string) []wire.Finding {
	t.Helper()
	var rows []wire.Finding
	for line := range strings.Lines(text) {
		var f wire.Finding
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		rows = append(rows, f)
	}
	return rows
}

// findingsOf returns the findings in text by their check. Of several with one
// check it keeps the first that is not OK.
func findingsOf(t *testing.T, text string) map[string]wire.Finding {
	t.Helper()
	all := map[string]wire.Finding{}
	for _, f := range rowsOf(t, text) {
		if before, again := all[f.Check]; !again || before.OK {
			all[f.Check] = f
		}
	}
	return all
}

func TestDoctorIncludesAllThatDoctorRedisFinds(t *testing.T) {
	quick.Leave(t, "starts several servers")
	t.Parallel()
	r := redistest.New(t)
	url := "redis://" + r.Addr
	p := redisNode(t, url, "--shards", "16")
	examine := func(found func(server map[string]wire.Finding) bool) {
		t.Helper()
		var server []wire.Finding
		redistest.Until(t, "doctor finds it", func() bool {
			out, _, _ := p.foliot("-o", "json", "doctor")
			server = rowsOf(t, out)
			return found(findingsOf(t, out))
		})
		// A server whose store is unfit is not ready, and the row that says
		// so has the name of the row of the Redis server. So all rows count.
		out, _, _ := newSession(t).runBare("-o", "json", "doctor", "redis", url)
		for _, want := range rowsOf(t, out) {
			if !slices.ContainsFunc(server, func(got wire.Finding) bool {
				return got.Check == want.Check && got.OK == want.OK && (got.Check == "clock" || got.Check == "memory" || got.Says == want.Says)
			}) {
				t.Errorf("doctor redis finds %+v, and the server %+v", want, server)
			}
		}
	}
	bad := func(check, says string) func(map[string]wire.Finding) bool {
		return func(server map[string]wire.Finding) bool {
			f := server[check]
			return f.Says != "" && !f.OK && strings.Contains(f.Says, says)
		}
	}
	examine(func(server map[string]wire.Finding) bool {
		return server["fit"].OK && server["identity"].OK && server["server"].OK
	})
	tell(t, r.Addr, "CONFIG", "SET", "appendonly", "no")
	examine(bad("fit", "redis.conf"))
	tell(t, r.Addr, "CONFIG", "SET", "appendonly", "yes")
	tell(t, r.Addr, "HSET", "foliot:meta", "identity", "of-another-store")
	closes(t, p)
	examine(bad("identity", "accept-loss"))
}

// closes waits until the server of p refuses requests because its store was
// replaced.
func closes(t *testing.T, p *process) {
	t.Helper()
	redistest.Until(t, "the server is closed", func() bool {
		resp, err := http.Get(p.url + "/readyz")
		fatal.If(t, err)
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return strings.Contains(string(text), "store_replaced")
	})
}

func TestDoctorSaysThatTheStoreWasEmptied(t *testing.T) {
	quick.Leave(t, "starts several servers")
	t.Parallel()
	r := redistest.New(t)
	p := redisNode(t, "redis://"+r.Addr, "--shards", "16")
	tell(t, r.Addr, "FLUSHALL")
	closes(t, p)
	out, errs, code := p.foliot("-o", "json", "doctor")
	found := findingsOf(t, out)
	if says := found["identity"]; code != exit.Failure || says.OK || !strings.Contains(says.Says, "foliot:meta") || !strings.Contains(says.Says, "start them again") {
		t.Errorf("it ended with %d: %s\n%s", code, out, errs)
	}
	if found["ready"].OK || found["dead"].OK {
		t.Error(out)
	}
}

func TestAServerOnARedisThatBecameUnfitIsNotReadyAndHasAMetric(t *testing.T) {
	quick.Leave(t, "waits for a check of Redis")
	t.Parallel()
	r := redistest.New(t)
	p := redisNode(t, "redis://"+r.Addr, "--shards", "16")
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(p.url + path)
		fatal.If(t, err)
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(text)
	}
	for _, unfit := range []bool{false, true, false} {
		policy, status, metric := "noeviction", 200, "foliot_store_unfit 0"
		if unfit {
			policy, status, metric = "allkeys-lru", 503, "foliot_store_unfit 1"
		}
		tell(t, r.Addr, "CONFIG", "SET", "maxmemory-policy", policy)
		redistest.Until(t, "/readyz says so", func() bool { got, _ := get("/readyz"); return got == status })
		if _, text := get("/readyz"); strings.Contains(text, "store_unfit") != unfit {
			t.Error(text)
		}
		if _, text := get("/metrics"); !strings.Contains(text, "\n"+metric+"\n") {
			t.Errorf("there is no %q", metric)
		}
		if _, errs, code := p.foliot("add", "http://127.0.0.1:9/", "--in", "1h"); (code == exit.OK) == unfit {
			t.Errorf("%s: add ended with %d: %s", policy, code, errs)
		}
	}
	p.signal(terminate)
	if _, log := p.exit(); strings.Count(log, "a setting of Redis may lose tasks: this node") != 1 || !strings.Contains(log, "fit for tasks again") {
		t.Error(log)
	}
}
