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
	shows(t, stdout, "version 7", "noeviction", "appendfsync", "GB used", "has no replica", "within", "stored tasks there yet")
	wants(t, exit.Failure, "pass a db below")(s.runBare("doctor", "redis", "redis://"+r.Addr+"?db=99"))
	if keys, err := redistest.Command(t.Context(), r.Addr, "DBSIZE"); keys != ":0" {
		t.Error("it has left something there:", keys, err)
	}
	redisNode(t, "redis://"+r.Addr, "--shards", "16")
	t.Setenv("FOLIOT_STORE", "redis://"+r.Addr)
	tell(t, r.Addr, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
	wants(t, exit.Failure, "BAD  fit", "16 shards")(s.runBare("doctor", "redis"))
}

func TestTheDoctorFindsARedisThatTakesNoWrites(t *testing.T) {
	quick.Leave(t, "waits for an outage")
	t.Parallel()
	r := redistest.New(t)
	replica, full := redistest.NewReplica(t, r.Addr), redistest.New(t, "--maxmemory", "100kb")
	tell(t, r.Addr, "CONFIG", "SET", "min-replicas-to-write", "2")
	for addr, says := range map[string]string{
		r.Addr: "check that the replicas run", replica.Addr: "name the master", full.Addr: "give this Redis more memory",
	} {
		wants(t, exit.Failure, says)(newSession(t).runBare("doctor", "redis", "redis://"+addr))
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
