package main

import (
	"context"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"github.com/foliot/foliot/internal/server/redisurl"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/usage"
	"github.com/foliot/foliot/internal/wire"
)

type doctorRedisCmd struct {
	URL string `arg:"" optional:"" help:"The Redis, as for foliot serve --store, which is taken without it."`

	serveFlags
}

// Help shows examples below the usage line.
func (doctorRedisCmd) Help() string {
	return `Asks all masters of a Redis or Valkey, of a Sentinel's or of a Cluster how they are, and says what is wrong for tasks: what foliot serve would
refuse, memory, replicas and how far they are behind, how far the clocks are from each other's and from this machine's, and how tasks are
kept there. It changes nothing. It takes what foliot serve takes, flags, variables and --config, and judges by that. It exits with 1 when a
finding is bad.

Examples:

    foliot doctor redis redis://127.0.0.1:6379
    FOLIOT_STORE=redis+cluster://foliot:PASSWORD@10.0.0.1,10.0.0.2 foliot doctor redis --durability strict
    foliot doctor redis --config /etc/foliot.yaml`
}

// redisAt returns the servers that url names, or --store without it, and how they
// are shared.
func (f *serveFlags) redisAt(url string, parsed *kong.Context, file *configValues) (*redisurl.URL, redisSharing, redisstore.Config, error) {
	what := "--store"
	if url != "" {
		what, f.Store = "URL", url
	}
	var config redisstore.Config
	if !redisurl.Is(f.Store) {
		return nil, redisSharing{}, config, usage.Errorf(what, "it names no Redis, such as %s", redisurl.Example)
	}
	u, sharing, err := f.redisStore()
	if err != nil {
		return nil, sharing, config, originsOf(parsed, file).locate(err)
	}
	config = sharing.config()
	config.Client, err = u.Options()
	return u, sharing, config, err
}

// doctorRedisTime bounds an examination, examineTime one by a server that runs.
const (
	doctorRedisTime = 30 * time.Second
	examineTime     = 5 * time.Second
)

// Run examines.
func (c *doctorRedisCmd) Run(ctx context.Context, con *console, parsed *kong.Context, file *configValues) error {
	u, sharing, config, err := c.redisAt(c.URL, parsed, file)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, doctorRedisTime)
	defer stop()
	x, err := redisstore.Examine(ctx, config)
	if err != nil {
		return u.Explain("examine", err)
	}
	f := &findings{con: con}
	f.redis(x, sharing)
	return f.end()
}

// redis reports an examination, judged by the settings of a server.
func (f *findings) redis(x *redisstore.Examination, sharing redisSharing) {
	config := sharing.config()
	for i := range x.Masters {
		f.master(&x.Masters[i], config.Durability, config.Replicas)
	}
	f.clocks(x.Masters)
	if x.Layout.Store != nil {
		f.layout(x.Layout, sharing)
	}
	f.identity(x.Layout.Store, x.Closed)
}

// examiner returns the function by which the API examines the store's servers, nil if
// there are none.
func (n *node) examiner() func(context.Context) []wire.Finding {
	s, shared := n.store.(*redisstore.Store)
	if !shared {
		return nil
	}
	return func(ctx context.Context) []wire.Finding {
		ctx, stop := context.WithTimeout(ctx, examineTime)
		defer stop()
		var f findings
		x, err := s.Examine(ctx)
		f.redis(x, n.cfg.sharing)
		if err != nil {
			f.add("format", false, "it cannot be read how tasks are kept: %v", err)
		}
		return f.list
	}
}

// master tells how one master is.
func (f *findings) master(m *redisstore.Examined, level redisstore.Durability, expected int) {
	if m.Failed != nil {
		f.add("server", false, "%s: %v", m.Addr, m.Failed)
		return
	}
	f.add("server", true, "%s: version %s, %s", m.Addr, m.Version, m.Mode)
	for _, err := range m.Unfit {
		f.add("fit", false, "%v", err)
	}
	if len(m.Unfit) == 0 {
		f.add("fit", true, "%s: maxmemory-policy %s, %s", m.Addr, m.Policy, persistence(m))
	}
	switch {
	case m.Limit == 0:
		f.add("memory", true, "%s: %s used, of no limit", m.Addr, megabytes(m.Used))
	case m.Crowded():
		f.add("memory", false, "%s: %s of %s used: no new tasks are taken from 85 %% on; give it more, or more masters", m.Addr, megabytes(m.Used), megabytes(m.Limit))
	default:
		f.add("memory", true, "%s: %s of %s used", m.Addr, megabytes(m.Used), megabytes(m.Limit))
	}
	for _, risk := range m.Risks {
		f.add("risk", false, "%s: %s", m.Addr, risk)
	}
	f.replicas(m, level, expected)
}

func persistence(m *redisstore.Examined) string {
	switch {
	case !m.File:
		return "no append-only file: a restart loses tasks"
	case m.Sync == "":
		return "an append-only file; the user may not know when it is synced (ACL: +config|get)"
	}
	return "an append-only file with appendfsync " + m.Sync
}

// cutOffBound is how long a master that is cut off may go on taking writes before that
// is worth a word.
const cutOffBound = 3 * time.Second

// replicas tells how a master's replicas are, of which so many are expected to
// confirm what is strict.
func (f *findings) replicas(m *redisstore.Examined, level redisstore.Durability, expected int) {
	fit := 0
	for _, r := range m.Replicas {
		if r.Fit {
			fit++
		}
		f.add("replica", r.Fit, "%s of %s: %s, %d bytes behind, heard %v ago", r.Addr, m.Addr, r.State, r.Behind, r.Silent)
	}
	switch {
	case m.MinReplicas > fit:
		f.add("replicas", false, "%s takes no writes: min-replicas-to-write is %d, and %d follow", m.Addr, m.MinReplicas, fit)
	case level == redisstore.Strict && fit < expected:
		f.add("replicas", false, "%s: %d must confirm each change (--redis-replicas), and %d follow: every change is refused (503 durability_not_met)", m.Addr, expected, fit)
	case len(m.Replicas) == 0:
		f.add("replicas", true, "%s has none: if it is lost, so are the tasks that are not in its file", m.Addr)
	case level == redisstore.Strict && m.MinReplicas == 0:
		f.add("replicas", false, "%s takes writes without any replica, and a master that was replaced does so for a while: write min-replicas-to-write 1 into redis.conf, or CONFIG SET it and run CONFIG REWRITE", m.Addr)
	case m.MinReplicas > 0 && m.MaxLag > cutOffBound:
		f.add("replicas", true, "%s: a master that is cut off from its replicas stops taking writes after %v; min-replicas-max-lag 2 makes that 2s", m.Addr, m.MaxLag)
	}
}

// clocks compares the masters' clocks with each other's and ours.
func (f *findings) clocks(masters []redisstore.Examined) {
	var first, last *redisstore.Examined
	for i := range masters {
		m := &masters[i]
		if m.Failed != nil {
			continue
		}
		if first == nil || m.Ahead < first.Ahead {
			first = m
		}
		if last == nil || m.Ahead > last.Ahead {
			last = m
		}
		near := m.Ahead.Abs() <= clockBound+m.Unsure
		f.add("clock", near, "%s is %s%s", m.Addr, apart(m.Ahead, m.Unsure, f.machine()), adviceUnless(near,
			": absolute times mean another moment there; synchronise both (chrony, systemd-timesyncd)"))
	}
	if first == nil || first == last {
		return
	}
	between := last.Ahead - first.Ahead
	near := between <= clockBound+first.Unsure+last.Unsure
	f.add("clocks", near, "those of %s and %s are %v apart%s", first.Addr, last.Addr, between.Round(100*time.Microsecond), adviceUnless(near,
		": tasks are late by as much, and where one takes the other's place leases end early and attempts are repeated; synchronise them"))
}

// machine returns whose clock the masters' clocks are compared with.
func (f *findings) machine() string {
	if f.con == nil { // a server examines its Redis
		return "the server's clock"
	}
	return "this machine's clock"
}

// apart says how far a clock is from ours.
func apart(ahead, unsure time.Duration, ours string) string {
	if ahead.Abs()+unsure < time.Millisecond {
		return "within a millisecond of " + ours
	}
	word := "ahead of"
	if ahead < 0 {
		word = "behind"
	}
	return fmt.Sprintf("%v %s %s (± %v)", ahead.Abs().Round(100*time.Microsecond), word, ours, unsure.Round(100*time.Microsecond))
}

func adviceUnless(ok bool, advice string) string {
	if ok {
		return ""
	}
	return advice
}

// layout tells how tasks are kept.
func (f *findings) layout(l redisstore.Layout, said redisSharing) {
	switch {
	case l.Unreadable != nil:
		f.add("format", false, "%v", l.Unreadable)
	case l.Format == 0:
		f.add("format", true, "no server has kept tasks there yet")
	case said.shards != 0 && said.shards != l.Shards:
		f.add("format", false, "tasks are divided into %d shards, and --shards says %d: leave it out", l.Shards, said.shards)
	default:
		f.add("format", true, "tasks are kept in format %d, in %d shards; others take those of a server that says nothing for %v", l.Format, l.Shards, l.Lease)
	}
}

// identity reports which store the Redis holds, and which parts are lost. found is
// nil if that cannot be read. closed says why the server that examines is closed:
// it knows its store, which a Redis that is empty or holds another store does not show.
func (f *findings) identity(found *redisstore.Found, closed string) {
	switch {
	case found != nil && !found.Whole():
		f.add("identity", false, "%s; servers refuse everything until the data is back: restore it, or accept the loss with foliot redis accept-loss", lossesOf(found))
	case closed != "":
		f.add("identity", false, "the server is closed: %s. If you restore the data, the server goes on by itself. If you cannot, stop every server and start them again: they take the Redis as it is", closed)
	case found != nil && found.Identity != "":
		f.add("identity", true, "the store is %s, in all of its %d parts", found.Identity, found.Parts)
	}
}
