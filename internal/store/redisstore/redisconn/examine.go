package redisconn

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Examined is what one master says of itself.
type Examined struct {
	Addr    string
	Failed  error // it could not be asked; nothing else is known then
	Version string
	Mode    string   // standalone, sentinel or cluster
	Unfit   []error  // why a store as Config says would not open there
	Risks   []string // settings that may lose tasks, and do not keep a store from opening

	Policy      string // what is done when memory ends
	File        bool   // there is an append-only file
	Sync        string // when that is synced; "": the user may not know
	Used, Limit int64  // bytes of memory; no limit: 0

	Replicas    []Replica
	MinReplicas int           // how many it needs to take writes; below 0: the user may not know
	MaxLag      time.Duration // a replica that is silent for longer does not count among these

	// Ahead is by how much its clock is ahead of this machine's, exact to Unsure.
	Ahead, Unsure time.Duration
}

// Replica is a replica as its master sees it.
type Replica struct {
	Addr   string
	State  string
	Behind int64         // bytes
	Silent time.Duration // since it was heard, in whole seconds
	Fit    bool          // it counts for durability
}

// Crowded reports whether so much memory is used that no new tasks are taken.
func (e *Examined) Crowded() bool {
	return condition{used: e.Used, limit: e.Limit}.crowded(e.Addr) != ""
}

// ExamineMasters asks the masters that the last look found, in the order of their addresses.
func (s *Servers) ExamineMasters(ctx context.Context) []Examined {
	addrs := slices.Sorted(maps.Keys(s.Masters.Load().how))
	list := make([]Examined, len(addrs))
	var all sync.WaitGroup
	for i, addr := range addrs {
		all.Go(func() { list[i] = s.examine(ctx, addr) }) // one that hangs must not keep the others from being asked
	}
	all.Wait()
	return list
}

// errLoading is what is known of a server that does not say yet how it is.
var errLoading = errors.New("it is reading its file after a start: ask again when it has")

func (s *Servers) examine(ctx context.Context, addr string) Examined {
	x := Examined{Addr: addr}
	node, known := s.Client.Nodes()[addr]
	if !known {
		x.Failed = errNoNode
		return x
	}
	ctx, stop := context.WithTimeout(ctx, TryTime)
	defer stop()
	info, config, err := report(ctx, addr, node)
	if err == nil && loading(info) != "" {
		err = errLoading
	}
	if err != nil {
		x.Failed = err
		return x
	}
	how := conditionOf(addr, info, config, s.memory).deriveLimit(s.Masters.Load().onHost(addr))
	f := how.facts
	x.Version, x.Mode, x.Unfit, x.Risks = f.version, info["redis_mode"], s.config.refusals(f), s.config.risks(how)
	x.Policy, x.File, x.Sync = f.policy, f.file == "1", f.fsync
	x.Used, x.Limit = how.used, how.limit
	x.Replicas, x.MinReplicas, x.MaxLag = replicasOf(info), int(f.minReplicas), time.Duration(f.maxLag)*time.Second
	x.Ahead, x.Unsure = s.Clocks.Ahead(addr, time.Now())
	return x
}

// replicasOf reads the replicas from a master's INFO.
func replicasOf(info map[string]string) (all []Replica) {
	written, _ := strconv.ParseInt(info["master_repl_offset"], 10, 64)
	for i := 0; ; i++ {
		line, ok := info["slave"+strconv.Itoa(i)]
		if !ok {
			return all
		}
		f := map[string]string{}
		for part := range strings.SplitSeq(line, ",") {
			name, value, _ := strings.Cut(part, "=")
			f[name] = value
		}
		read, _ := strconv.ParseInt(f["offset"], 10, 64)
		silent, _ := strconv.Atoi(f["lag"])
		all = append(all, Replica{
			Addr: net.JoinHostPort(f["ip"], f["port"]), State: f["state"], Behind: max(written-read, 0), Silent: time.Duration(silent) * time.Second, Fit: following(line),
		})
	}
}
