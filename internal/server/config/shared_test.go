package config

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/telemetry/tracing"
)

func TestTheStoreGetsTheFlags(t *testing.T) {
	f := Flags{
		Listen: "127.0.0.1:0", Store: "redis://127.0.0.1", Node: "a", Shards: 16, ShardLease: time.Second, Durability: "strict", RedisUnsafe: true,
	}
	_, got, err := f.redisStore()
	fatal.If(t, err)
	want := redisstore.Config{Shards: 16, ShardLease: time.Second, Durability: redisstore.Strict, Unsafe: true, Shared: store.Shared{Node: "a"}}
	if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("%+v", got)
	}
}

func TestTheURLCanHaveTheDurability(t *testing.T) {
	f := Flags{Store: "redis://127.0.0.1?durability=strict", ShardLease: time.Second, Durability: "default"}
	if _, c, err := f.redisStore(); err != nil || c.Durability != redisstore.Strict {
		t.Errorf("%+v, %v", c, err)
	}
	f.Durability = "async"
	if _, _, err := f.redisStore(); err == nil || !strings.Contains(err.Error(), "differs from the durability in the URL") {
		t.Error(err)
	}
}

func TestAServerWithoutANameTakesOneOfItsOwn(t *testing.T) {
	a, b := inventNode(), inventNode()
	if a == b || !nodeName.MatchString(a) || !nodeName.MatchString(b) || strings.Count(a, "-") < 1 {
		t.Errorf("%q and %q", a, b)
	}
}

func TestAServerWithoutATokenIsToldHowToMakeOne(t *testing.T) {
	cfg := Config{Redis: &redisurl.URL{Addrs: []string{"127.0.0.1:1"}}}
	for _, addr := range []string{"0.0.0.0:0", "127.0.0.1:0"} {
		cfg.Addr, cfg.Proxies = addr, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		if err := cfg.CheckUnopened(false); err != nil {
			t.Errorf("CheckUnopened refuses, although a token may exist: %v", err)
		}
		if err := cfg.CheckOpen(false); err == nil || !strings.Contains(err.Error(), "make one with `(umask 077; foliot token generate > operator.token)` and pass it with --bootstrap-token-file operator.token") {
			t.Errorf("it says %v", err)
		}
		if err := cfg.CheckOpen(true); err != nil {
			t.Error(err)
		}
	}
}

func TestTheCollectorsAddressIsOwn(t *testing.T) {
	for otlp, want := range map[string]string{
		"": "", "http://127.0.0.1:4318": "127.0.0.1:4318", "https://otel.example/v1": "otel.example:443", "http://[fd00::1]": "[fd00::1]:80",
	} {
		c := Config{Tracing: tracing.Config{Endpoint: otlp}}
		if got := strings.Join(c.Collector(), " "); got != want {
			t.Errorf("%q: %q, want %q", otlp, got, want)
		}
	}
}

func TestTheDispatcherGetsTheFlags(t *testing.T) {
	f := Flags{
		Listen: "127.0.0.1:0", Store: "redis://127.0.0.1", Durability: "default",
		BodyLimit: 1, KeepFinished: time.Hour, KeepDead: time.Hour, AuditKeep: time.Hour, Concurrency: 1,
	}
	for shards, claims := range map[time.Duration]time.Duration{6 * time.Second: 15 * time.Second, time.Second: 2500 * time.Millisecond, time.Minute: 15 * time.Second} {
		f.ShardLease = shards
		cfg, err := f.Resolve()
		if d := cfg.Dispatch; err != nil || d.Grace >= 0 || d.LeaseFor != claims { // a grace of zero would mean the default
			t.Errorf("--shard-lease %v: %+v, %v", shards, d, err)
		}
	}
}
