package redisconn

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/bytesize"
)

// condition is the state of a master when it last answered.
type condition struct {
	facts   facts
	loading string // its progress in reading its file; until it has finished, it does not report all facts. "": it has finished

	used, limit int64    // bytes of memory; a limit of zero means none
	derived     bool     // limit follows from the machine's memory, since no limit is set
	replicas    int      // replicas that follow
	followers   []string // host:port of all replicas that it reports, even if they do not follow

	history     string            // the ID of its replication; a successor takes it over as its second one
	run         string            // the ID of its process; empty means that the facts come from an earlier process
	unread      bool              // CONFIG GET failed
	asked, read time.Duration     // on the monotonic clock: when it was asked, and when CONFIG GET last succeeded
	info        map[string]string // its INFO
	failed      error             // why a later check failed; nil means that it did not
	silent      bool              // it did not answer a later check
	succeeded   bool              // a successor existed when it answered
	doubted     time.Duration     // since when it answers although a successor exists; zero: not so
	refused     error             // why it refuses writes; nil means that it accepts them

	unfit []error  // the reasons to refuse it when a store is opened
	risks []string // settings that can lose tasks but are accepted
}

// settingsHold is how long Strict trusts the settings of the last CONFIG GET, so one
// failure is ignored, and after two in a row Strict refuses tasks.
const settingsHold = 2 * CheckEvery

// after returns c, with missing facts from the previous check: all of them while
// the server is reading its file, and the settings of the same process if CONFIG GET
// failed. Settings become stale after settingsHold, or if the server missed a check.
func (c condition) after(before condition) condition {
	switch {
	case c.loading != "":
		c.facts, c.unfit, c.risks, c.run = before.facts, before.unfit, before.risks, ""
	case !c.unread:
		c.read = c.asked
	case c.run != "" && c.run == before.run:
		f, known := &c.facts, before.facts
		f.fsync, f.minReplicas, f.maxLag = known.fsync, known.minReplicas, known.maxLag
		c.read = before.read
		f.stale = known.stale || before.silent || c.asked-c.read >= settingsHold
	}
	return c
}

// emptyWrite is a script that a server refuses if it refuses writes: a replica, a
// master without the replicas that it needs, or one that cannot write its file. It
// changes nothing, and a full server accepts it, as it accepts deliveries.
const emptyWrite = Writes + "return 1"

// report reads the INFO of the server at addr, and the settings that INFO does
// not contain. config is nil if CONFIG GET failed, for example because the user
// may not run it. refused is why the server refuses writes to key, which must
// be in one of its slots; nil means that it accepts them.
func report(ctx context.Context, addr, key string, node rueidis.Client) (info, config map[string]string, refused, err error) {
	replies := node.DoMulti(ctx,
		node.B().Info().Section("server", "memory", "persistence", "replication").Build(),
		node.B().ConfigGet().Parameter("appendfsync", "min-replicas-to-write", "min-replicas-max-lag").Build(),
		node.B().Eval().Script(emptyWrite).Numkeys(1).Key(key).Build(),
	)
	text, err := replies[0].ToString()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the state of the Redis at %s: %w", addr, err)
	}
	config, _ = replies[1].AsStrMap() // nil after an error
	return infoFields(text), config, refusal(addr, replies[2].Error()), nil
}

// refusal returns err, the result of emptyWrite at the server at addr, with an
// explanation. A slot that moves is no refusal.
func refusal(addr string, err error) error {
	reply, ok := rueidis.IsRedisErr(err)
	if !ok {
		return err
	}
	why := meaning(reply)
	if why == slotMoves {
		return nil
	}
	return fmt.Errorf("the Redis at %s refuses writes: %s: %w", addr, cmp.Or(why, "its reply has the reason"), err)
}

func infoFields(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// number returns a field of INFO or CONFIG GET as a number, or missing if there is
// none.
func number(fields map[string]string, name string, missing int64) int64 {
	if n, err := strconv.ParseInt(fields[name], 10, 64); err == nil {
		return n
	}
	return missing
}

func conditionOf(addr string, info, config map[string]string) condition {
	c := condition{
		facts: factsOf(addr, info, config), loading: loading(info),
		used:  number(info, "used_memory", 0) - number(info, "mem_not_counted_for_evict", 0),
		limit: number(info, "maxmemory", 0), run: info["run_id"], history: info["master_replid"], unread: config == nil,
	}
	for _, r := range replicasOf(info) {
		if r.Fit {
			c.replicas++
		}
		if r.Addr != "" {
			c.followers = append(c.followers, r.Addr)
		}
	}
	return c
}

// loading returns the progress of a server that reads its file after a start,
// "" if it has finished.
func loading(info map[string]string) string {
	if info["loading"] != "1" && info["async_loading"] != "1" {
		return ""
	}
	return fmt.Sprintf("%s %%, %s s to go", info["loading_loaded_perc"], info["loading_eta_seconds"])
}

// deriveLimit sets the limit of c if the server has none: half of the machine's memory, divided among the masters on that machine.
// Redis needs the other half while it rewrites its file.
func (c condition) deriveLimit(masters int) condition {
	if c.limit == 0 && c.facts.machine > 0 {
		c.limit, c.derived = c.facts.machine/2/int64(max(masters, 1)), true
	}
	return c
}

// onHost returns how many masters have the host of addr.
func (m *Masters) onHost(addr string) (n int) {
	host, _, _ := net.SplitHostPort(addr)
	for other := range m.how {
		if h, _, _ := net.SplitHostPort(other); h == host {
			n++
		}
	}
	return n
}

// judge sets the limits, refusals and risks of the masters in m. While one of
// them is unfit, it closes the store to new tasks.
func (s *Servers) judge(m *Masters) {
	var wrong []error
	for addr, how := range m.how {
		if how.facts.addr == "" { // it has not answered yet
			continue
		}
		how = how.deriveLimit(m.onHost(addr))
		if how.loading == "" {
			how.unfit = s.config.refusals(how.facts)
			how.risks = s.config.risks(how)
		}
		m.how[addr] = how
		wrong = append(wrong, how.unfit...)
	}
	if len(wrong) == 0 {
		s.Unfit.Store(nil)
		return
	}
	first := slices.MinFunc(wrong, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	s.Unfit.Store(&first)
}

// crowded returns why a master takes no new tasks, "" if it takes them.
func (c condition) crowded(addr string) string {
	if c.limit == 0 || float64(c.used) < crowdedAt*float64(c.limit) {
		return ""
	}
	of := ""
	if c.derived {
		of = " (maxmemory is 0: this is half of the machine's memory)"
	}
	return fmt.Sprintf("the Redis at %s uses %s of %s of memory%s; new tasks are accepted only below %.0f %%", addr, bytesize.Text(c.used), bytesize.Text(c.limit), of, 100*crowdedAt)
}
