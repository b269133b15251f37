package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ErrUnfit says that a server would lose tasks, or its memory without a limit, and Open
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
}

func factsOf(addr string, info map[string]string, fsync string) facts {
	return facts{addr, info["redis_version"], info["maxmemory_policy"], info["aof_enabled"], fsync, info["maxmemory"]}
}

// refusals returns what makes a server unfit under c: what was found, where, what
// to set there, and what allows it all the same. What INFO does not show
// is not refused, but for the fsync of Strict, which promises it.
func (c Config) refusals(f facts) (all []error) {
	refuse := func(format string, args ...any) {
		all = append(all, fmt.Errorf("%w: at %s %s", ErrUnfit, f.addr, fmt.Sprintf(format, args...)))
	}
	if !atLeast7(f.version) {
		refuse("the version %q is older than 7.0: install a newer Redis, or Valkey", f.version)
	}
	if f.policy != "" && f.policy != "noeviction" && !c.UnsafeEviction {
		refuse("maxmemory-policy is %s, so that tasks are thrown away when memory ends: CONFIG SET maxmemory-policy noeviction (--redis-unsafe-eviction takes it as it is)", f.policy)
	}
	if f.limit == "0" && c.Memory <= 0 {
		refuse("maxmemory is 0, so that nobody knows when to take no more: CONFIG SET maxmemory to what it may use; or say it by --redis-memory")
	}
	if c.UnsafePersistence {
		return all
	}
	switch {
	case f.file == "0":
		refuse("appendonly is no, so that a restart loses tasks: CONFIG SET appendonly yes (--redis-unsafe-persistence takes it as it is)")
	case f.fsync == "no":
		refuse("appendfsync is no, so that a power loss costs more than a second of tasks: CONFIG SET appendfsync everysec, or always (--redis-unsafe-persistence takes it as it is)")
	case c.Durability == Strict && f.fsync == "":
		refuse("appendfsync cannot be known, and the durability strict needs always: let the user run CONFIG GET (ACL: +config|get), or take a lower level (--redis-unsafe-persistence takes it as it is)")
	case c.Durability == Strict && f.fsync != "always":
		refuse("appendfsync is %s, and the durability strict needs always: CONFIG SET appendfsync always, or take a lower level (--redis-unsafe-persistence takes it as it is)", f.fsync)
	}
	return all
}

func atLeast7(version string) bool {
	major, _, _ := strings.Cut(version, ".")
	n, err := strconv.Atoi(major)
	return err == nil && n >= 7
}

// inspectEvery is how often a master is looked at in full. One that was not a
// master before is at once: a replica that was promoted has a configuration of
// its own, and who runs it may change any.
const inspectEvery = time.Minute

// inspection is when a master was looked at, and what was wrong.
type inspection struct {
	at   time.Time
	said string
}

// fit looks at the masters, and refuses servers that are not as the store needs them.
func (s *servers) fit(ctx context.Context) error {
	if err := s.checkMode(ctx); err != nil {
		return err
	}
	if err := s.look(ctx); err != nil {
		return err
	}
	var all []error
	for addr, how := range s.masters.Load().how {
		f, err := s.loaded(ctx, addr)
		if err != nil {
			return err
		}
		if needed := s.wants(addr); s.level == Strict && how.replicas < needed {
			s.logger.Warn("fewer replicas follow than must confirm each change: all are refused until they do (durability_not_met)", "server", addr, "follow", how.replicas, "needed", needed)
		}
		if f.fsync == "" {
			s.logger.Warn("appendfsync cannot be known: the user may not run CONFIG GET", "server", addr)
		}
		wrong := s.config.refusals(f)
		s.inspected[addr] = inspection{time.Now(), fmt.Sprint(wrong)}
		all = append(all, wrong...)
	}
	return errors.Join(all...)
}

// loaded is facts of a server that has read its file: until then it does not say
// how it is, such as that it has an append-only file. It waits for that as long as
// it takes, and says so in the log.
func (s *servers) loaded(ctx context.Context, addr string) (facts, error) {
	for {
		f, info, err := s.facts(ctx, addr)
		if err != nil || !loading(info) {
			return f, err
		}
		if err := s.awaitLoading(ctx, fmt.Sprintf("%s %%, %s s to go", info["loading_loaded_perc"], info["loading_eta_seconds"])); err != nil {
			return f, err
		}
	}
}

func loading(info map[string]string) bool {
	return info["loading"] == "1" || info["async_loading"] == "1"
}

// awaitLoading waits before a server that is reading its file is asked again.
func (s *servers) awaitLoading(ctx context.Context, state string) error {
	if now := time.Now(); now.Sub(s.awaited) >= awaitEvery {
		s.awaited = now
		s.logger.Info("waiting until Redis has read its file", "servers", named(s.config.Client), "state", state)
	}
	if !s.pause(ctx, longest) {
		return context.Cause(ctx)
	}
	return nil
}

// awaitEvery is how often the log says that a server is waited for.
const awaitEvery = 10 * time.Second

// inspect looks at masters that were not for a while, and logs what has become
// wrong with one: tasks are there, so it is used all the same.
func (s *servers) inspect(ctx context.Context, now time.Time) {
	for addr := range s.masters.Load().how {
		before, known := s.inspected[addr]
		if known && now.Sub(before.at) < inspectEvery {
			continue
		}
		f, info, err := s.facts(ctx, addr)
		if err != nil || loading(info) {
			continue // it is away, which look tells, or will say how it is later
		}
		wrong := s.config.refusals(f)
		s.inspected[addr] = inspection{now, fmt.Sprint(wrong)}
		if s.inspected[addr].said == before.said {
			continue
		}
		for _, err := range wrong {
			s.logger.Error("tasks may get lost: a server would not be taken as it is now", "server", addr, "error", err)
		}
		if known && len(wrong) == 0 {
			s.logger.Info("the server is fit for tasks again", "server", addr)
		}
	}
}

// facts asks the server at addr how it is configured, and returns its INFO, too.
func (s *servers) facts(ctx context.Context, addr string) (facts, map[string]string, error) {
	node, ok := s.client.Nodes()[addr]
	if !ok {
		return facts{}, nil, fmt.Errorf("ask the Redis at %s what it is: %w", addr, errNoNode)
	}
	text, err := node.Do(ctx, node.B().Info().Build()).ToString()
	if err != nil {
		return facts{}, nil, fmt.Errorf("ask the Redis at %s what it is: %w", addr, err)
	}
	config, _ := node.Do(ctx, node.B().ConfigGet().Parameter("appendfsync").Build()).AsStrMap() // the user may not ask
	info := infoFields(text)
	return factsOf(addr, info, config["appendfsync"]), info, nil
}
