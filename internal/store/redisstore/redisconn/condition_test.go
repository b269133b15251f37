package redisconn

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/redistest"
)

// Packages install Redis without maxmemory, so the limit then follows from the
// memory of the machine.
func TestTheBoundWithoutMaxmemoryIsComputedFromTheMachine(t *testing.T) {
	t.Parallel()
	r := redistest.New(t, "--maxmemory", "0")
	s := connected(t, Config{}, r.Addr)
	how := s.Masters.Load().how[r.Addr]
	if how.facts.machine < 64<<20 || how.limit != how.facts.machine/2 || !how.derived {
		t.Errorf("%+v", how)
	}
	if free, _ := s.Free(); free > how.facts.machine/2 || free == 0 {
		t.Errorf("%d bytes are free", free)
	}
}

func TestMastersOfOneMachineShareItsMemoryBound(t *testing.T) {
	const machine = 8 << 30
	none := condition{facts: facts{machine: machine}}
	m := &Masters{how: map[string]condition{"10.0.0.1:1": none, "10.0.0.1:2": none, "10.0.0.2:1": none}}
	for addr, want := range map[string]int64{"10.0.0.1:1": machine / 4, "10.0.0.1:2": machine / 4, "10.0.0.2:1": machine / 2} {
		if got := none.deriveLimit(m.onHost(addr)); got.limit != want || !got.derived {
			t.Errorf("%s: %d MB", addr, got.limit>>20)
		}
	}
	set := condition{facts: facts{machine: machine}, limit: 1 << 20}
	if got := set.deriveLimit(1); got.limit != 1<<20 || got.derived {
		t.Errorf("a limit that is set became %d", got.limit)
	}
	full := none.deriveLimit(2)
	full.used = full.limit * 9 / 10
	if why := full.crowded("10.0.0.1:1"); !strings.Contains(why, "maxmemory is 0") {
		t.Error(why)
	}
}
