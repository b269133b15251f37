package redistest

import (
	"testing"
	"time"
)

func TestAServerThatWasKilledComesBackWithItsData(t *testing.T) {
	s := New(t, "--appendfsync", "always")
	if got, err := Command(t.Context(), s.Addr, "SET", "a", "1"); got != "+OK" {
		t.Fatal(got, err)
	}
	s.Kill()
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
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
	took := Until(t, patience, "another master", func() bool {
		for _, one := range s.Servers[1:] {
			if info, _ := Command(t.Context(), one.Addr, "INFO", "replication"); containsLine(info, "role:master") {
				return true
			}
		}
		return false
	})
	t.Log("another master after", took)
}
