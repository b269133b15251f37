package registry

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheStateOfANodeIsDecodedAsEncoded(t *testing.T) {
	for _, p := range []membership.Peer{
		{Name: "a", Nonce: "N", Beat: 7},
		{Name: "b", Nonce: "M", Beat: 8, Version: "v1", Started: 5, Role: "a program", Address: "[::1]:80", Draining: true},
		{Name: "c", Nonce: "O", Beat: 9, Draining: true, Forced: true},
		{Name: "d", Nonce: "P", Beat: 9, Address: "h:1", Applied: "7-ab", More: "i:1,j:1", Role: "foliot serve", Lag: time.Second, Duplicate: true},
	} {
		list := []string{p.Name, "", drainField + "x", "N"}
		if p.Duplicate {
			list[0] = duplicateField + p.Name
		}
		list[1] = redisconn.Score(p.Beat) + "/" + p.Nonce + "/" + about(&p)
		if p.Draining {
			list = append(list, drainField+p.Name, map[bool]string{true: "!", false: ""}[p.Forced]+p.Nonce)
		}
		got, err := parsePeers(list)
		if err != nil || len(got) != 1 || got[0] != p {
			t.Errorf("%+v, %v, want %+v", got, err, p)
		}
	}
}

func FuzzParsePeers(f *testing.F) {
	f.Add("a", "1795000000000/NONCE/1.2.3/1795000000000/0/v-1/127.0.0.1:8080")
	f.Add("drain/a", "!NONCE")
	f.Add("twin/a", "1795000000000/NONCE/1.2.3/1795000000000/0/v-1/127.0.0.1:8080")
	f.Add("a", "1/")
	f.Fuzz(func(t *testing.T, name, value string) {
		peers, err := parsePeers([]string{name, value, drainField + name, value})
		if err == nil && len(peers) > 1 {
			t.Error(peers)
		}
	})
}

func connected(t *testing.T) (*redisconn.Servers, *redistest.Server) {
	t.Helper()
	server := redistest.New(t)
	s, err := redisconn.Connect(t.Context(), redisconn.Config{
		Client:     rueidis.ClientOption{InitAddress: []string{server.Addr}, DisableCache: true},
		Durability: redisconn.Default, Logger: slog.New(slog.DiscardHandler),
	})
	fatal.If(t, err)
	t.Cleanup(s.Close)
	return s, server
}

// The log names the store that was found in place of this one.
func TestALeaseRefusedByAnotherStoreIsExplained(t *testing.T) {
	s, _ := connected(t)
	refused := s.Client.Do(t.Context(), s.Client.B().Eval().Script("return redis.error_reply('FOLIOT_STORE foliot:{0}:own')").Numkeys(0).Build())
	if g := readLeaseReplies(refused, 1)[0]; g.Err == nil || strings.Contains(g.Err.Error(), "FOLIOT_STORE") {
		t.Errorf("it says %v", g.Err)
	}
}

// A process takes the name of another one that is silent. It takes no name, or waits
// until the other one is forgotten, if the silence may be that of Redis.
func TestANameIsTakenFromASilentProcess(t *testing.T) {
	s, server := connected(t)
	r, self := &registry{servers: s, suspect: func(error) {}}, membership.Peer{Name: "a", Nonce: "later"}
	const silence = time.Minute
	for _, c := range []struct {
		silent time.Duration
		mode   membership.Mode
		found  membership.Found
	}{
		{silence / 2, membership.Alive, membership.Other},
		{2 * silence, membership.Alive, membership.Moved},
		{2 * silence, membership.KeepName, membership.Other},
		{11 * silence, membership.KeepName, membership.Moved},
		{11 * silence, membership.NoName, membership.Other},
	} {
		first := fmt.Sprint(time.Now().Add(-c.silent).UnixMilli(), "/first/", about(&self))
		if _, err := redistest.Command(t.Context(), server.Addr, "HSET", s.Keys.Nodes, "a", first); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Beat(t.Context(), c.mode, &self, silence); err != nil || n.Found != c.found {
			t.Errorf("silent for %v, mode %d: found %d, want %d, %v", c.silent, c.mode, n.Found, c.found, err)
		}
	}
}
