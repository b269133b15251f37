package redistest

import (
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/quick"
)

func TestAServerThatWasKilledComesBackWithItsData(t *testing.T) {
	s := New(t, "--appendfsync", "always")
	if got, err := Command(t.Context(), s.Addr, "SET", "a", "1"); got != "+OK" {
		t.Fatal(got, err)
	}
	s.Kill()
	fatal.If(t, s.Restart())
	if got, err := Command(t.Context(), s.Addr, "GET", "a"); got != "1" {
		t.Fatalf("it has %q (%v), want 1", got, err)
	}
}

func TestAClusterOfSixIsWhole(t *testing.T) {
	began := time.Now()
	c := NewCluster(t, 3, 1)
	t.Log("whole after", time.Since(began))
	if len(c.Servers) != 6 {
		t.Fatal(len(c.Servers))
	}
}

func TestSentinelsNameAnotherMasterWhenTheirsIsKilled(t *testing.T) {
	s := NewSentinels(t)
	s.Servers[0].Kill()
	took := Until(t, "another master", func() bool {
		for _, one := range s.Servers[1:] {
			if info, _ := Command(t.Context(), one.Addr, "INFO", "replication"); containsLine(info, "role:master") {
				return true
			}
		}
		return false
	})
	t.Log("another master after", took)
}

func TestSentinelsReplaceAMasterThatOnlyItsUsersReach(t *testing.T) {
	quick.Leave(t, "starts Sentinels")
	Need(t)
	s, err := StartSentinels(t.TempDir(), true)
	t.Cleanup(s.Close)
	fatal.If(t, err)
	if got := s.Master(t.Context()); got != 0 {
		t.Fatalf("the master is at %d, want 0", got)
	}
	s.Proxies[0].FreezeBut("user")
	Until(t, "another master", func() bool { return s.Master(t.Context()) > 0 })
	if got, err := Command(t.Context(), s.Addr(0), "CLIENT", "SETNAME", "user"); got != "+OK" {
		t.Fatalf("its user reaches it no more: %q %v", got, err)
	}
	if n, err := s.Promotions(t.Context()); err != nil || n < 1 {
		t.Errorf("%d promotions (%v), want one at least", n, err)
	}
}
