package idle

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestTheDefaultsAreThoseOfTheDocumentation(t *testing.T) {
	for _, c := range []struct {
		name       string
		cfg        Config
		resolution time.Duration
	}{
		{"nothing set", Config{}, time.Second},
		{"a 64th of the smallest", Config{ReadIdle: 32 * time.Second, MaxAge: time.Hour}, 500 * time.Millisecond},
		{"of pings too", Config{ReadIdle: time.Hour, PingEvery: time.Hour, PongWait: 6400 * time.Millisecond}, 100 * time.Millisecond},
		{"at least 100 ms", Config{AllIdle: 10 * time.Second, PingEvery: time.Hour, PongWait: time.Second}, 100 * time.Millisecond},
		{"at most 1 s", Config{Handshake: time.Hour}, time.Second},
		{"as set", Config{WriteIdle: time.Hour, Resolution: 30 * time.Millisecond}, 30 * time.Millisecond},
		{"at least 1 ms", Config{WriteIdle: time.Hour, Resolution: time.Nanosecond}, time.Millisecond},
		{"below zero is off", Config{ReadIdle: -time.Second, Resolution: -1}, time.Second},
	} {
		if got := 2 * c.cfg.limits().step; got != c.resolution {
			t.Errorf("%s: the resolution is %v, not %v", c.name, got, c.resolution)
		}
	}
	century := Config{MaxAge: 100 * 365 * 24 * time.Hour, Resolution: time.Millisecond}.limits()
	if g := (&grid{step: century.step}); g.steps(century.age) > longestSteps+8 {
		t.Errorf("a century is %d steps", g.steps(century.age))
	}

	l := Config{PingEvery: time.Minute}.limits()
	if l.pong != time.Minute || l.maxMissed != 1 || l.jitter != 0.1 || l.workers != 4 || l.maxPerTick != 0 {
		t.Errorf("%+v", l)
	}
	l = Config{MaxMissed: 1000, Jitter: -1, Workers: 7, MaxPerTick: -3, PongWait: time.Second}.limits()
	if l.pong != 0 || l.maxMissed != 255 || l.jitter != 0 || l.workers != 7 || l.maxPerTick != 0 {
		t.Errorf("%+v", l)
	}
	for jitter, want := range map[float64]float64{7: 1, math.NaN(): 0.1} {
		if l = (Config{Jitter: jitter}).limits(); l.jitter != want {
			t.Errorf("a jitter of %v is %v, want %v", jitter, l.jitter, want)
		}
	}
}

// A function that forgets to decide must not close a connection in use.
func TestTheZeroVerdictKeeps(t *testing.T) {
	if v := (Verdict{}); v != Keep() || v == Close() {
		t.Errorf("the zero Verdict is %+v", v)
	}
}

func TestCountsOfAnUnknownReasonAreZero(t *testing.T) {
	var c Counts
	for r := range Evicted + 1 {
		c.of[r] = 10 + uint64(r)
	}
	if c.Of(ReadIdle) != 11 || c.Of(Evicted) != 10+uint64(Evicted) || c.Of(Evicted+1) != 0 || c.Of(255) != 0 {
		t.Errorf("%d, %d, %d", c.Of(ReadIdle), c.Of(Evicted), c.Of(Evicted+1))
	}
}

func TestAMissingArgumentIsNamed(t *testing.T) {
	const untimed = "idle: New without a timeout: set AllIdle"
	rest := Config{Resolution: time.Second, PongWait: time.Second, MaxMissed: 2, Jitter: 0.5, Workers: 1, Activity: Kernel}
	g := New(Config{AllIdle: Never}, closing)
	for _, c := range []struct {
		want string // how the panic begins; empty: none
		f    func()
	}{
		{untimed, func() { New(Config{}, closing) }},
		{untimed, func() { New(rest, closing) }},
		{"", func() { New(Config{MaxAge: time.Hour}, closing) }},
		{"", func() { New(Config{PingEvery: time.Second}, closing) }},
		{"idle: New without a function to call", func() { New[*conn](Config{}, nil) }},
		{"idle: Track without an Entry", func() { _ = g.Track(newConn(), nil) }},
		{"idle: WatchServer without a server or a group", func() { WatchServer(nil, New(Config{AllIdle: Never}, closingConns)) }},
		{"idle: NewListener without a group", func() { NewListener(nil, nil) }},
		{"idle: NewConn without a group", func() { NewConn(nil, nil) }},
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
					t.Errorf("%q, want %q", got, c.want)
				}
			}()
			c.f()
		}()
	}
}
