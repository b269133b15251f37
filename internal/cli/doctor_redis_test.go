package cli

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
)

func TestTheDoctorExaminesARedisAndChangesNothing(t *testing.T) {
	r, s := redistest.New(t), newSession(t)
	stdout, stderr, code := s.runBare("doctor", "redis", "redis://"+r.Addr)
	if code != exit.OK {
		t.Fatalf("%d: %s%s", code, stdout, stderr)
	}
	for _, part := range []string{"version 7", "noeviction", "appendfsync", "GB used", "has no replica", "within", "stored tasks there yet"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("it does not say %q:\n%s", part, stdout)
		}
	}
	if _, stderr, code := s.runBare("doctor", "redis", "redis://"+r.Addr+"?db=99"); code != exit.Failure || !strings.Contains(stderr, "pass a db below") {
		t.Errorf("a database that does not exist: %d: %s", code, stderr)
	}
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); keys != ":0" {
		t.Error("it has left something there:", keys, err)
	}
	redisNode(t, "redis://"+r.Addr, "--shards", "16")
	t.Setenv("FOLIOT_STORE", "redis://"+r.Addr)
	if _, err := redistest.Command(t.Context(), r.Addr, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru"); err != nil {
		t.Fatal(err)
	}
	stdout, _, code = s.runBare("doctor", "redis")
	if code != exit.Failure || !strings.Contains(stdout, "BAD  fit") || !strings.Contains(stdout, "16 shards") {
		t.Errorf("%d:\n%s", code, stdout)
	}
}

func TestTheDoctorFindsARedisThatTakesNoWrites(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	t.Parallel()
	r := redistest.New(t)
	replica, full := redistest.NewReplica(t, r.Addr), redistest.New(t, "--maxmemory", "100kb")
	if _, err := redistest.Command(t.Context(), r.Addr, "CONFIG", "SET", "min-replicas-to-write", "2"); err != nil {
		t.Fatal(err)
	}
	for addr, says := range map[string]string{
		r.Addr: "check that the replicas run", replica.Addr: "name the master", full.Addr: "give this Redis more memory",
	} {
		if stdout, _, code := newSession(t).runBare("doctor", "redis", "redis://"+addr); code != exit.Failure || !strings.Contains(stdout, says) {
			t.Errorf("%d, without %q:\n%s", code, says, stdout)
		}
	}
}

func TestTheDoctorExaminesAllMastersOfACluster(t *testing.T) {
	t.Parallel()
	c := redistest.NewCluster(t, 3, 0)
	stdout, stderr, code := newSession(t).runBare("doctor", "redis", "redis+cluster://"+c.Servers[0].Addr)
	if code != exit.OK || strings.Count(stdout, "version 7") != 3 || strings.Count(stdout, "ok   clock ") != 3 || strings.Count(stdout, "ok   clocks") != 1 {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}
