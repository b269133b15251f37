package redisconn

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/redistest"
)

func TestUnfitServersAreRefusedWithAReason(t *testing.T) {
	fit := facts{addr: "a:1", version: "7.0.15", policy: "noeviction", file: "1", fsync: "everysec", limit: "1000", machine: 1 << 30}
	synced := fit
	synced.fsync = "always"
	with := func(f facts, edit func(*facts)) facts { edit(&f); return f }
	for _, c := range []struct {
		config Config
		facts  facts
		want   string // a part of the refusal, "": none
	}{
		{Config{}, fit, ""},
		{Config{Durability: Strict}, synced, ""},
		{Config{}, with(fit, func(f *facts) { f.version = "8.1.0" }), ""},
		{Config{}, with(fit, func(f *facts) { f.version = "6.2.14" }), `"6.2.14"`},
		{Config{}, with(fit, func(f *facts) { f.version = "" }), "older"},
		{Config{}, with(fit, func(f *facts) { f.policy = "allkeys-lru" }), "allkeys-lru"},
		{Config{Unsafe: true}, with(fit, func(f *facts) { f.policy = "allkeys-lru" }), ""},
		{Config{}, with(fit, func(f *facts) { f.limit = "0" }), ""},
		{Config{}, with(fit, func(f *facts) { f.limit, f.machine = "0", 0 }), "maxmemory is 0"},
		{Config{}, with(fit, func(f *facts) { f.file = "0" }), "appendonly is no"},
		{Config{Unsafe: true}, with(fit, func(f *facts) { f.file, f.fsync = "0", "" }), ""},
		{Config{}, with(fit, func(f *facts) { f.fsync = "no" }), "appendfsync is no"},
		{Config{}, with(fit, func(f *facts) { f.fsync = "" }), ""},
		{Config{Durability: Strict}, with(fit, func(f *facts) { f.fsync = "" }), "is unknown"},
		{Config{Durability: Strict}, fit, "everysec"},
	} {
		got := fmt.Sprint(errors.Join(c.config.refusals(c.facts)...))
		if c.want == "" && got != "<nil>" || !strings.Contains(got, c.want) || c.want != "" && !strings.Contains(got, ": at a:1 ") {
			t.Errorf("%+v, %+v: %s", c.config, c.facts, got)
		}
	}
}

func TestAProgramWithoutFlagsIsNotAdvisedToPassAFlag(t *testing.T) {
	unfit := facts{addr: "a:1", version: "7.0.15", policy: "allkeys-lru", file: "0", limit: "0"}
	risky := condition{facts: facts{machine: 1 << 30, replicas: 1}, limit: 1 << 29, derived: true}
	for _, embedded := range []bool{false, true} {
		c := Config{Embedded: embedded}
		refusals := c.refusals(unfit)
		if len(refusals) != 3 {
			t.Errorf("refusals: %q", refusals)
		}
		for _, text := range []string{fmt.Sprint(c.risks(risky)), fmt.Sprint(refusals)} {
			if strings.Contains(text, " --") == embedded {
				t.Errorf("embedded %v: %s", embedded, text)
			}
		}
	}
}

// A restart undoes CONFIG SET without CONFIG REWRITE. All tasks accepted since
// then are lost.
func TestEachRemedySurvivesARestartOfRedis(t *testing.T) {
	unfit := facts{addr: "a:1", version: "7.0.15", policy: "allkeys-lru", file: "0", fsync: "no", limit: "0", machine: 1 << 30, replicas: 1}
	for _, config := range []string{"", "/etc/redis/redis.conf"} {
		f := unfit
		f.config = config
		remedies := Config{Durability: Default}.risks(condition{facts: f, limit: 1 << 29, derived: true})
		synced := f
		synced.file = "1"
		for _, level := range []Durability{Default, Strict} {
			for _, f := range []facts{f, synced, {addr: "a:1", version: "7.0.15", policy: "noeviction", file: "1", fsync: "everysec", limit: "1", config: config}} {
				for _, err := range (Config{Durability: level}).refusals(f) {
					remedies = append(remedies, err.Error())
				}
			}
		}
		if len(remedies) < 8 {
			t.Errorf("%d remedies", len(remedies))
		}
		for _, text := range remedies {
			if config == "" && !strings.Contains(text, "from the next start of Redis on, use a redis.conf that has") || config != "" && !strings.Contains(text, "CONFIG REWRITE, which writes "+config) {
				t.Error(text)
			}
		}
	}
}

// A Redis that starts with appendonly yes ignores its snapshot. Without a file
// that CONFIG SET has written, it starts empty. But if it was started without
// its option, CONFIG SET overwrites the file that has the tasks.
func TestTheRemedyForAppendonlyDestroysNoFileAndWritesOneBeforeARestart(t *testing.T) {
	for _, config := range []string{"", "/etc/redis/redis.conf"} {
		f := facts{addr: "a:1", version: "7.0.15", policy: "noeviction", file: "0", limit: "1000", config: config}
		for _, err := range (Config{}).refusals(f) {
			if !strings.Contains(err.Error(), "If it ran with appendonly yes before and is empty now, its append-only file still has the tasks: stop it and start it with appendonly yes") ||
				!strings.Contains(err.Error(), "Otherwise run CONFIG SET appendonly yes") || !strings.Contains(err.Error(), "do not restart Redis before its append-only file is written") {
				t.Error(err)
			}
		}
	}
}

// The URL of one server names a Sentinel, or a server of a Cluster.
func TestAServerThatDoesNotStandAloneIsRecognized(t *testing.T) {
	quick.Leave(t, "starts several servers")
	for addr, want := range map[string]error{
		redistest.NewSentinels(t).Sentinels[0].Addr: ErrSentinel,
		redistest.NewCluster(t, 3, 0).Addrs()[0]:    ErrCluster,
	} {
		_, err := Connect(t.Context(), Config{
			Client:     rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true},
			Durability: Default, Logger: slog.New(slog.DiscardHandler),
		})
		if !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

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
