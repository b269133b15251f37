package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/redistest"
	"github.com/foliot/foliot/internal/store/redisstore"
)

func TestTheDoctorExaminesARedisAndChangesNothing(t *testing.T) {
	r, s := redistest.New(t), newSession(t)
	stdout, stderr, code := s.runBare("doctor", "redis", "redis://"+r.Addr)
	if code != exitOK {
		t.Fatalf("%d: %s%s", code, stdout, stderr)
	}
	for _, part := range []string{"version 7", "noeviction", "appendfsync", "MB used", "has none", "within", "kept tasks there yet"} {
		if !strings.Contains(stdout, part) {
			t.Errorf("it does not say %q:\n%s", part, stdout)
		}
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
	if code != exitFailure || !strings.Contains(stdout, "BAD  fit") || !strings.Contains(stdout, "16 shards") {
		t.Errorf("%d:\n%s", code, stdout)
	}
}

func TestTheDoctorExaminesAllMastersOfACluster(t *testing.T) {
	c := redistest.NewCluster(t, 3, 0)
	stdout, stderr, code := newSession(t).runBare("doctor", "redis", "redis+cluster://"+c.Servers[0].Addr)
	if code != exitOK || strings.Count(stdout, "version 7") != 3 || strings.Count(stdout, "ok   clock ") != 3 || strings.Count(stdout, "ok   clocks") != 1 {
		t.Errorf("%d: %s%s", code, stdout, stderr)
	}
}

func TestWhatTheDoctorSaysOfMasters(t *testing.T) {
	fine := redisstore.Examined{Addr: "a:1", Policy: "noeviction", File: true, Sync: "always", Used: 10, Limit: 100}
	with := func(edit func(*redisstore.Examined)) redisstore.Examined { e := fine; edit(&e); return e }
	replica := redisstore.Replica{Addr: "b:2", State: "online", Fit: true}
	for _, c := range []struct {
		master redisstore.Examined
		level  redisstore.Durability
		bad    string // a part of the one bad finding, "": none

		expected int // replicas
	}{
		{fine, redisstore.Default, "", 0},
		{with(func(e *redisstore.Examined) { e.Failed = errors.New("no route") }), redisstore.Default, "no route", 0},
		{with(func(e *redisstore.Examined) { e.Unfit = []error{redisstore.ErrUnfit} }), redisstore.Default, "not fit", 0},
		{with(func(e *redisstore.Examined) { e.Used = 86 }), redisstore.Default, "85 %", 0},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{replica} }), redisstore.Default, "", 0},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{replica} }), redisstore.Strict, "min-replicas-to-write 1", 0},
		{with(func(e *redisstore.Examined) { e.Replicas, e.MinReplicas = []redisstore.Replica{replica}, 1 }), redisstore.Strict, "", 0},
		{with(func(e *redisstore.Examined) { e.Replicas, e.MinReplicas = []redisstore.Replica{replica}, 2 }), redisstore.Strict, "takes no writes", 0},
		{with(func(e *redisstore.Examined) { e.Replicas = []redisstore.Replica{{Addr: "b:2", State: "wait_bgsave"}} }), redisstore.Default, "wait_bgsave", 0},
		{with(func(e *redisstore.Examined) { e.Ahead, e.Unsure = -time.Second, time.Millisecond }), redisstore.Default, "1s behind", 0},
		{with(func(e *redisstore.Examined) { e.Ahead, e.Unsure = 99*time.Millisecond, time.Millisecond }), redisstore.Default, "", 0},
		{fine, redisstore.Strict, "2 must confirm", 2},
		{with(func(e *redisstore.Examined) { e.Replicas, e.MinReplicas = []redisstore.Replica{replica}, 1 }), redisstore.Strict, "", 1},
	} {
		var out bytes.Buffer
		f := &findings{con: &console{out: &out, err: &out}}
		f.master(&c.master, c.level, c.expected)
		f.clocks([]redisstore.Examined{c.master})
		bad := ""
		for line := range strings.Lines(out.String()) {
			if strings.HasPrefix(line, "BAD") {
				bad += line
			}
		}
		if c.bad == "" && bad != "" || !strings.Contains(bad, c.bad) || c.bad != "" && f.bad != 1 {
			t.Errorf("want %q bad, got:\n%s", c.bad, out.String())
		}
	}
	var out bytes.Buffer
	f := &findings{con: &console{out: &out, err: &out}}
	f.clocks([]redisstore.Examined{with(func(e *redisstore.Examined) { e.Ahead = 90 * time.Millisecond }), with(func(e *redisstore.Examined) { e.Ahead = -90 * time.Millisecond })})
	if f.bad != 1 || !strings.Contains(out.String(), "180ms apart") {
		t.Error(out.String())
	}
}
