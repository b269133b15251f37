package redisconn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/bytesize"
)

// ErrUnfit means that Connect refuses a server, because it would lose tasks, or use
// memory without a limit.
var ErrUnfit = errors.New("the Redis is not fit for tasks")

// facts is the configuration of a server, as far as the server reports it.
type facts struct {
	addr    string
	version string
	policy  string // maxmemory-policy: the action when memory is full
	file    string // "1": there is an append-only file
	fsync   string // when it is synced; empty means that the user is not allowed to read it
	limit   string // the limit of memory, in bytes
	machine int64  // bytes of memory of its machine; zero means unknown
	config  string // the configuration file it was started with; empty means none

	replicas    int64 // replicas that are connected
	minReplicas int64 // replicas that it needs to take writes; negative means that the user is not allowed to read it
	maxLag      int64 // seconds after which a silent replica no longer counts; negative means that the user is not allowed to read it
	stale       bool  // the settings that INFO does not contain were read too long ago for Strict
}

func factsOf(addr string, info, config map[string]string) facts {
	return facts{
		addr: addr, version: info["redis_version"], policy: info["maxmemory_policy"], file: info["aof_enabled"], fsync: config["appendfsync"],
		limit: info["maxmemory"], machine: number(info, "total_system_memory", 0), config: info["config_file"],
		replicas: number(info, "connected_slaves", 0), minReplicas: number(config, "min-replicas-to-write", -1), maxLag: number(config, "min-replicas-max-lag", -1),
	}
}

// remedy returns how to change settings ("appendonly yes") so that they survive
// a restart of the server.
func (f facts) remedy(settings ...string) string {
	set := "CONFIG SET " + strings.Join(settings, " ")
	if f.config == "" {
		return fmt.Sprintf("run %s, and from the next start of Redis on, use a redis.conf that has \"%s\" (Redis has no redis.conf now, so a restart undoes the change)", set, strings.Join(settings, `" and "`))
	}
	return fmt.Sprintf("run %s and then CONFIG REWRITE, which writes %s (without it a restart undoes the change)", set, f.config)
}

// unlessEmbedded returns the part of a message that names a flag, or "" if the
// program has no flags.
func (c Config) unlessEmbedded(words string) string {
	if c.Embedded {
		return ""
	}
	return words
}

// refusals returns the reasons that make a server unfit under c, each with the remedy.
// A setting that INFO does not contain is no reason, except for appendfsync at the
// level Strict, which guarantees synced writes.
func (c Config) refusals(f facts) (all []error) {
	refuse := func(format string, args ...any) {
		all = append(all, fmt.Errorf("%w: at %s %s", ErrUnfit, f.addr, fmt.Sprintf(format, args...)))
	}
	if !atLeast7(f.version) {
		refuse("the version %q is older than 7.0: install a newer Redis, or Valkey", f.version)
	}
	if f.policy != "" && f.policy != "noeviction" && !c.Unsafe {
		refuse("maxmemory-policy is %s, so Redis deletes tasks when its memory is full: %s%s", f.policy, f.remedy("maxmemory-policy noeviction"),
			c.unlessEmbedded("; --redis-unsafe accepts this setting"))
	}
	if f.limit == "0" && f.machine == 0 {
		refuse("maxmemory is 0 and the memory of its machine is unknown, so Foliot cannot tell when to refuse new tasks: set maxmemory in redis.conf")
	}
	if c.Unsafe {
		return all
	}
	accept := c.unlessEmbedded("; --redis-unsafe accepts this setting")
	switch {
	case f.file == "0":
		refuse("appendonly is no, so a restart loses tasks. If it ran with appendonly yes before and is empty now, its append-only file still has the tasks: "+
			"stop it and start it with appendonly yes, because CONFIG SET overwrites the file. Otherwise %s; do not restart Redis before its append-only file is written, or it starts empty%s",
			f.remedy("appendonly yes"), accept)
	case f.fsync == "no":
		refuse("appendfsync is no, so a power loss may lose much more than the last second of tasks: %s%s", f.remedy("appendfsync everysec"), accept)
	case c.Durability == Strict && f.fsync != "always" && f.fsync != "":
		refuse("appendfsync is %s, and the durability strict needs always: %s, or choose a lower level%s", f.fsync, f.remedy("appendfsync always"), accept)
	case c.Durability == Strict && (f.fsync == "" || f.stale):
		refuse("appendfsync is unknown, and the durability strict needs always: let the user run CONFIG GET (ACL: +config|get), or choose a lower level%s", accept)
	}
	return all
}

// With these settings a master stops by itself if it is cut off from its
// replicas.
const (
	minReplicasSetting = "min-replicas-to-write 1"
	maxLagSetting      = "min-replicas-max-lag 2"
)

// risks returns the settings of a master that can lose tasks under c, with their
// remedies, although the master is used.
func (c Config) risks(how condition) (all []string) {
	f := how.facts
	if how.derived {
		all = append(all, fmt.Sprintf("maxmemory is 0, so Foliot assumes %s, half of the machine's memory, and refuses new tasks above %.0f %% of it: %s",
			bytesize.Text(how.limit), 100*crowdedAt, f.remedy(fmt.Sprintf("maxmemory %dmb", how.limit>>20))))
	}
	if c.Durability != Strict && f.replicas > 0 && f.minReplicas == 0 {
		all = append(all, fmt.Sprintf("min-replicas-to-write is 0 and the durability is %s, so a master that was replaced during a network split may still accept writes, and these writes are lost: %s, also on the replicas%s",
			c.Durability, f.remedy(minReplicasSetting, maxLagSetting), c.unlessEmbedded("; or use --durability strict")))
	}
	return all
}

func atLeast7(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 7
}

// fit checks the masters, and returns an error if the store must not use them.
func (s *Servers) fit(ctx context.Context) error {
	if err := s.checkLoaded(ctx); err != nil {
		return err
	}
	var all []error
	for addr, how := range s.Masters.Load().how {
		if how.facts.fsync == "" {
			s.logger.Warn("appendfsync is unknown, because the user may not run CONFIG GET (ACL: +config|get): a crash of Redis may lose tasks", "server", addr)
		}
		all = append(all, how.unfit...)
	}
	if len(all) == 0 {
		s.logFitness()
	}
	return errors.Join(all...)
}

// checkLoaded checks the masters after all have read their files. Until then
// they do not report all facts: for example, whether they have an append-only
// file. It waits as long as that takes, and logs the wait.
func (s *Servers) checkLoaded(ctx context.Context) error {
	for try := 0; ; try++ {
		if err := s.CheckMasters(ctx); err != nil {
			return err
		}
		state := ""
		for addr, how := range s.Masters.Load().how {
			if how.loading == "" && how.facts.addr == "" {
				return fmt.Errorf("read the state of the Redis at %s: %w", addr, errNoNode)
			}
			state = cmp.Or(state, how.loading)
		}
		if state == "" {
			return nil
		}
		if err := s.config.awaitLoading(ctx, try, state); err != nil {
			return err
		}
	}
}

// awaitLoading waits before the next try to use a server that is reading its file, and
// logs that from time to time.
func (c Config) awaitLoading(ctx context.Context, try int, state string) error {
	if try%awaitLogged == 0 {
		c.Logger.Info("Redis is reading its file after a start: this node waits until Redis is ready", "servers", named(c.Client), "state", state)
	}
	select {
	case <-time.After(longestWait):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// awaitLogged is the number of tries between two log lines.
const awaitLogged = int(10 * time.Second / longestWait)

// fitness is the state of a master as it was last logged.
type fitness struct{ unfit, risks string }

// logFitness logs masters if their refusals or risks have changed.
func (s *Servers) logFitness() {
	for addr, how := range s.Masters.Load().how {
		if how.facts.addr == "" {
			continue
		}
		before, now := s.logged[addr], fitness{fmt.Sprint(how.unfit), strings.Join(how.risks, "\n")}
		s.logged[addr] = now
		if now.unfit != before.unfit {
			for _, err := range how.unfit {
				s.logger.Error("a setting of Redis may lose tasks: this node is not ready and takes no new tasks", "server", addr, "error", err)
			}
			if len(how.unfit) == 0 && before.unfit != "" {
				s.logger.Info("the Redis is fit for tasks again", "server", addr)
			}
		}
		if now.risks != before.risks {
			for _, risk := range how.risks {
				s.logger.Warn("a setting of Redis may lose tasks: this node accepts the setting", "server", addr, "risk", risk)
			}
		}
	}
}
