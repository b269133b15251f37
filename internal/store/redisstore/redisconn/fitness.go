package redisconn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrUnfit says that a server would lose tasks, or its memory without a limit. Connect
// refuses it.
var ErrUnfit = errors.New("the Redis is not fit for tasks")

// facts is how a server is configured, as far as it says.
type facts struct {
	addr    string
	version string
	policy  string // what is done when memory ends
	file    string // "1": there is an append-only file
	fsync   string // when it is synced; "": the user may not know
	limit   string // of memory, in bytes
	machine int64  // bytes of memory that its machine has; 0: unknown
	config  string // the configuration file that it was started with; "": none

	replicas    int64 // that are connected
	minReplicas int64 // that it needs to take writes; below 0: the user may not know
	maxLag      int64 // seconds after which it does not count a silent replica; below 0: the user may not know
	stale       bool  // the settings that INFO does not show were read too long ago for Strict
}

func factsOf(addr string, info, config map[string]string) facts {
	return facts{
		addr: addr, version: info["redis_version"], policy: info["maxmemory_policy"], file: info["aof_enabled"], fsync: config["appendfsync"],
		limit: info["maxmemory"], machine: number(info, "total_system_memory", 0), config: info["config_file"],
		replicas: number(info, "connected_slaves", 0), minReplicas: number(config, "min-replicas-to-write", -1), maxLag: number(config, "min-replicas-max-lag", -1),
	}
}

// remedy says how to set settings ("appendonly yes") so that they survive a
// restart of the server.
func (f facts) remedy(settings ...string) string {
	set := "CONFIG SET " + strings.Join(settings, " ")
	if f.config == "" {
		return fmt.Sprintf("write \"%s\" into the redis.conf that it is started with (it has none now, so a restart undoes %s)", strings.Join(settings, `" and "`), set)
	}
	return fmt.Sprintf("%s and then CONFIG REWRITE, which writes %s (without it a restart undoes the change)", set, f.config)
}

// refusals returns what makes a server unfit under c: the setting that was found,
// its remedy, and the flag that accepts it. What INFO does not show
// is not refused, but for the fsync of Strict, which promises it.
func (c Config) refusals(f facts) (all []error) {
	refuse := func(format string, args ...any) {
		all = append(all, fmt.Errorf("%w: at %s %s", ErrUnfit, f.addr, fmt.Sprintf(format, args...)))
	}
	if !atLeast7(f.version) {
		refuse("the version %q is older than 7.0: install a newer Redis, or Valkey", f.version)
	}
	if f.policy != "" && f.policy != "noeviction" && !c.UnsafeEviction {
		refuse("maxmemory-policy is %s, so Redis deletes tasks when its memory is full: %s; --redis-unsafe-eviction accepts the server as it is", f.policy, f.remedy("maxmemory-policy noeviction"))
	}
	if f.limit == "0" && c.Memory <= 0 && f.machine == 0 {
		refuse("maxmemory is 0 and the memory of its machine is unknown, so Foliot cannot tell when to refuse new tasks: set maxmemory in redis.conf, or pass --redis-memory")
	}
	if c.UnsafePersistence {
		return all
	}
	const accept = "; --redis-unsafe-persistence accepts the server as it is"
	switch {
	case f.file == "0":
		refuse("appendonly is no, so a restart loses tasks: %s%s", f.remedy("appendonly yes"), accept)
	case f.fsync == "no":
		refuse("appendfsync is no, so a power loss may lose much more than a second of tasks: %s%s", f.remedy("appendfsync everysec"), accept)
	case c.Durability == Strict && f.fsync != "always" && f.fsync != "":
		refuse("appendfsync is %s, and the durability strict needs always: %s, or choose a lower level%s", f.fsync, f.remedy("appendfsync always"), accept)
	case c.Durability == Strict && (f.fsync == "" || f.stale):
		refuse("appendfsync is unknown, and the durability strict needs always: let the user run CONFIG GET (ACL: +config|get), or choose a lower level%s", accept)
	}
	return all
}

// Settings that make a master stop by itself when it is cut off from its replicas.
const (
	minReplicasSetting = "min-replicas-to-write 1"
	maxLagSetting      = "min-replicas-max-lag 2"
)

// risks returns the settings of a master that may lose tasks under c, and their
// remedies. Such a master is used nevertheless.
func (c Config) risks(how condition) (all []string) {
	f := how.facts
	if how.derived {
		all = append(all, fmt.Sprintf("maxmemory is 0, so Foliot assumes %d MB, half of the machine's memory, and refuses new tasks from %.0f %% of it on: %s, or pass --redis-memory",
			how.limit>>20, 100*crowdedAt, f.remedy(fmt.Sprintf("maxmemory %dmb", how.limit>>20))))
	}
	if c.Durability != Strict && f.replicas > 0 && f.minReplicas == 0 {
		all = append(all, fmt.Sprintf("it has replicas, min-replicas-to-write is 0 and the durability is %s: in a network split this master goes on taking writes after another took its place, and they are lost: %s, on the replicas too; or use --durability strict",
			c.Durability, f.remedy(minReplicasSetting, maxLagSetting)))
	}
	return all
}

func atLeast7(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 7
}

// fit looks at the masters, and refuses servers that are not as the store needs them.
func (s *Servers) fit(ctx context.Context) error {
	if err := s.CheckMode(ctx); err != nil {
		return err
	}
	if err := s.lookLoaded(ctx); err != nil {
		return err
	}
	var all []error
	for addr, how := range s.Masters.Load().how {
		if needed := s.Wants(addr); s.level == Strict && how.replicas < needed {
			s.logger.Warn("fewer replicas follow than must confirm each change: all are refused until they do (durability_not_met)", "server", addr, "follow", how.replicas, "needed", needed)
		}
		if how.facts.fsync == "" {
			s.logger.Warn("appendfsync cannot be known: the user may not run CONFIG GET", "server", addr)
		}
		all = append(all, how.unfit...)
	}
	if len(all) == 0 {
		s.tellFitness()
	}
	return errors.Join(all...)
}

// lookLoaded looks at the masters when all have read their files: until then they
// do not report all facts, such as that they have an append-only file. It waits for that
// as long as it takes, and says so in the log.
func (s *Servers) lookLoaded(ctx context.Context) error {
	for {
		if err := s.Look(ctx); err != nil {
			return err
		}
		state := ""
		for addr, how := range s.Masters.Load().how {
			switch {
			case how.loading != "":
				state = how.loading
			case how.facts.addr == "":
				return fmt.Errorf("ask the Redis at %s how it is: %w", addr, errNoNode)
			}
		}
		if state == "" {
			return nil
		}
		if err := s.awaitLoading(ctx, state); err != nil {
			return err
		}
	}
}

// awaitLoading waits before a server that is reading its file is asked again.
func (s *Servers) awaitLoading(ctx context.Context, state string) error {
	if now := time.Now(); now.Sub(s.awaited) >= awaitEvery {
		s.awaited = now
		s.logger.Info("waiting until Redis has read its file", "servers", named(s.config.Client), "state", state)
	}
	if !s.Pause(ctx, longestWait) {
		return context.Cause(ctx)
	}
	return nil
}

// awaitEvery is how often the log says that a server is waited for.
const awaitEvery = 10 * time.Second

// fitness is the state of a master that was logged last.
type fitness struct{ unfit, risks string }

// tellFitness logs masters whose refusals or risks have changed.
func (s *Servers) tellFitness() {
	for addr, how := range s.Masters.Load().how {
		if how.facts.addr == "" {
			continue
		}
		before, now := s.logged[addr], fitness{fmt.Sprint(how.unfit), strings.Join(how.risks, "\n")}
		s.logged[addr] = now
		if now.unfit != before.unfit {
			for _, err := range how.unfit {
				s.logger.Error("tasks may get lost: this server is not ready, and takes no new tasks", "server", addr, "error", err)
			}
			if len(how.unfit) == 0 && before.unfit != "" {
				s.logger.Info("the Redis is fit for tasks again", "server", addr)
			}
		}
		if now.risks != before.risks {
			for _, risk := range how.risks {
				s.logger.Warn("tasks may get lost: a setting of Redis is risky", "server", addr, "risk", risk)
			}
		}
	}
}
