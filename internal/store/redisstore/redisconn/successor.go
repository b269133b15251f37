package redisconn

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A master that was stopped or cut off may have a successor when it replies again,
// and not know it yet. So a reply counts only if its server is still the master in
// the view of this process. If the server was slow or silent for long enough to get a
// successor, its replicas are asked first, because the successor is one of them and
// has the history of the master. If the others still call the server the master
// trustAfter later, it is.

// trustAfter is longer than Sentinels and a Cluster take to make a former master
// a replica after it has come back.
const trustAfter = 30 * time.Second

// errReplaced means that a server that replied is no longer the master.
var errReplaced = errors.New("another server replaced the master before it replied")

// slow is longer than a reply takes if no replica confirms at the level Default,
// and shorter than it takes to replace a master.
const slow = timeoutOfDefault + 100*time.Millisecond

// isMaster reports whether the server at addr is the master of the slot, in the
// view of this process.
func (s *Servers) isMaster(addr string, slot uint16) bool {
	if s.Cluster {
		return s.Masters.Load().Of(slot) == addr
	}
	_, is := s.Client.Nodes()[addr]
	return is
}

// doubts reports whether the master at addr may have a successor, because its
// reply took so long or it did not answer the last check.
func (s *Servers) doubts(addr string, took time.Duration) bool {
	m := s.Masters.Load()
	return m != nil && (took > slow || m.how[addr].silent)
}

// Doubted reports whether the master of a key without a tag may have a
// successor.
func (s *Servers) Doubted(key string) bool { return s.doubts(s.MasterOf(key), 0) }

// succeeded asks the replicas of the master at addr whether one of them is a
// master now. Without Sentinels and without a Cluster no server replaces
// another, and succeeded reports false.
func (s *Servers) succeeded(ctx context.Context, addr string) bool {
	m := s.Masters.Load()
	replicas := m.how[addr].followers
	for _, sp := range m.spans {
		if sp.addr == addr {
			replicas = slices.Concat(replicas, sp.replicas)
		}
	}
	if !s.Cluster && s.config.Client.Sentinel.MasterSet == "" {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, CheckEvery)
	defer stop()
	slices.Sort(replicas)
	var promoted atomic.Bool
	var all sync.WaitGroup
	for _, replica := range slices.Compact(replicas) {
		all.Go(func() {
			if s.promoted(ctx, replica, m.how[addr].history) {
				promoted.Store(true)
			}
		})
	}
	all.Wait()
	return promoted.Load()
}

// promoted reports whether the server at addr answers, and is a master that has
// continued the history of another one.
func (s *Servers) promoted(ctx context.Context, addr, history string) bool {
	o := s.config.Client
	o.Dialer.Timeout = CheckEvery / 2
	client, err := s.dialOne(addr, o)
	if err != nil {
		return false
	}
	defer client.Close()
	text, err := client.Do(ctx, client.B().Info().Section("replication").Build()).ToString()
	info := infoFields(text)
	return err == nil && info["role"] == "master" && (info["master_replid"] == history || info["master_replid2"] == history)
}
