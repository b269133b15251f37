package redisconn

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Examined is the report of one master about itself.
type Examined struct {
	Addr    string
	Failed  error // why it could not be asked; all other fields are unknown then
	Version string
	Mode    string   // standalone, sentinel or cluster
	Refused error    // why it refuses writes; nil means that it accepts them
	Unfit   []error  // why a store with this Config would not open there
	Risks   []string // settings that can lose tasks, but do not prevent opening a store

	Policy      string // maxmemory-policy: the action when memory is full
	File        bool   // it has an append-only file
	Sync        string // appendfsync: when the file is synced; empty means that the user is not allowed to read it
	Used, Limit int64  // bytes of memory; limit 0: none

	Replicas    []Replica
	MinReplicas int           // replicas that it needs to take writes; negative means that the user is not allowed to read it
	MaxLag      time.Duration // a replica that is silent for longer does not count towards MinReplicas

	// Ahead is how far its clock is ahead of this machine's clock, with an
	// error of at most Unsure.
	Ahead, Unsure time.Duration
}

// Replica is a replica as its master sees it.
type Replica struct {
	Addr   string // empty means that the master does not know it
	State  string
	Behind int64         // bytes
	Silent time.Duration // since its last message, in whole seconds
	Fit    bool          // it follows its master, and counts for durability
}

// Crowded reports whether the memory is too full for new tasks.
func (e *Examined) Crowded() bool {
	return condition{used: e.Used, limit: e.Limit}.crowded(e.Addr) != ""
}

// ExamineMasters checks the masters, and returns a report of each, sorted by
// address. Errors: ErrCluster, ErrSentinel, or that no server can be reached.
func (s *Servers) ExamineMasters(ctx context.Context) ([]Examined, error) {
	before := s.Masters.Load()
	err := s.CheckMasters(ctx)
	m := s.Masters.Load()
	if m == nil || errors.Is(err, ErrCluster) || errors.Is(err, ErrSentinel) {
		return nil, err
	}
	var list []Examined
	for _, addr := range slices.Sorted(maps.Keys(m.how)) {
		how := m.how[addr]
		if m == before { // the slots of a Cluster could not be read
			how.failed = err
		}
		list = append(list, s.examined(addr, how))
	}
	return list, nil
}

// errLoading is the error for a server that does not report its state yet.
var errLoading = errors.New("Redis is reading its file after a start: repeat the command when this is done") //nolint:staticcheck // Redis is a name

func (s *Servers) examined(addr string, how condition) Examined {
	x, f := Examined{Addr: addr, Failed: how.failed}, how.facts
	if x.Failed == nil && how.loading != "" {
		x.Failed = errLoading
	}
	if x.Failed != nil {
		return x
	}
	x.Version, x.Mode, x.Refused, x.Unfit, x.Risks = f.version, how.info["redis_mode"], how.refused, how.unfit, how.risks
	x.Policy, x.File, x.Sync, x.Used, x.Limit = f.policy, f.file == "1", f.fsync, how.used, how.limit
	x.Replicas, x.MinReplicas, x.MaxLag = replicasOf(how.info), int(f.minReplicas), time.Duration(f.maxLag)*time.Second
	x.Ahead, x.Unsure = s.Clocks.Ahead(addr, time.Now())
	return x
}

// replicasOf reads the replicas from a master's INFO. A line of a replica is
// "ip=…,port=…,state=online,offset=…,lag=0".
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
		silent, err := strconv.Atoi(f["lag"])
		all = append(all, Replica{
			Addr: endpoint(f["ip"], f["port"]), State: f["state"], Behind: max(written-read, 0), Silent: time.Duration(silent) * time.Second,
			Fit: f["state"] == "online" && err == nil && silent < awayAfter,
		})
	}
}
