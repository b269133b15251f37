package registry

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// drainField begins the field of a drain, duplicateField that of a duplicate, a
// process that shares its node name, and deadField that of a node that ended
// without notice. Node names have no slash.
const (
	drainField     = "drain/"
	duplicateField = "twin/"
	deadField      = "dead/"
)

// about returns the description of a node that follows heartbeat and nonce in
// the hash. An earlier version takes the role for an address, and omits it because it has
// no port.
func about(p *membership.Peer) string {
	plain := strings.NewReplacer("/", "-")
	return fmt.Sprintf("%s/%d/%d/%s/%s/%s,/%s",
		plain.Replace(p.Version), int64(p.Started), p.Lag.Milliseconds(), p.Applied, plain.Replace(p.Address), plain.Replace(p.More), p.Role)
}

// parsePeer reads a field of the hash, where fields that are missing at the end of
// the value are empty.
func parsePeer(name, value string) (membership.Peer, error) {
	parts := append(strings.SplitN(value, "/", 9), make([]string, 9)...)
	p := membership.Peer{Name: name, Nonce: parts[1], Version: parts[2], Applied: parts[5], Address: parts[6], More: strings.TrimSuffix(parts[7], ","), Role: parts[8]}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return membership.Peer{}, fmt.Errorf("heartbeat %q of node %q: %w", value, name, errDamaged)
	}
	started, _ := strconv.ParseInt(parts[3], 10, 64)
	lag, _ := strconv.ParseInt(parts[4], 10, 64)
	p.Beat, p.Started, p.Lag = task.Millis(at), task.Millis(started), time.Duration(lag)*time.Millisecond
	return p, nil
}

// parsePeers reads fields and values of the hash.
func parsePeers(list []string) ([]membership.Peer, error) {
	var peers []membership.Peer
	drains := map[string]string{}
	for i := 0; i+1 < len(list); i += 2 {
		if node, drained := strings.CutPrefix(list[i], drainField); drained {
			drains[node] = list[i+1]
			continue
		}
		name, duplicate := strings.CutPrefix(list[i], duplicateField)
		name, dead := strings.CutPrefix(name, deadField)
		p, err := parsePeer(name, list[i+1])
		if err != nil {
			return nil, err
		}
		p.Duplicate, p.Dead = duplicate, dead
		peers = append(peers, p)
	}
	for i := range peers {
		p := &peers[i]
		drained, forced := strings.CutPrefix(drains[p.Name], "!")
		p.Draining = drained != "" && drained == p.Nonce
		p.Forced = p.Draining && forced
	}
	return peers, nil
}

// keepDead is how long a node without heartbeats stays in the list for operators,
// so that they can see which node is missing. Nothing else reads it: a dead node
// must own no shard and hold up nothing.
const keepDead = time.Hour

// Beat implements membership.Registry, and does not retry, except in the modes
// that only read.
func (r *registry) Beat(ctx context.Context, mode membership.Mode, self *membership.Peer, silence time.Duration) (membership.Nodes, error) {
	s := r.servers
	args := []string{self.Name, self.Nonce, about(self), inMillis(10 * silence), inMillis(silence), s.Identity, inMillis(keepDead)}
	switch mode {
	case membership.KeepName:
		args[4] = args[3]
	case membership.NoName:
		args[4] = ""
	case membership.Leave:
		args[2] = ""
	case membership.ReadOnly:
		args[0], args[2] = "", ""
	case membership.ReadAll:
		args[0], args[2] = "", ""
		args = append(args, "1")
	}
	one := redisconn.Run{Keys: []string{s.Keys.Nodes, s.Keys.NodesID}, Args: args}
	if mode != membership.ReadOnly && mode != membership.ReadAll {
		h, err := readBeat(beat.Do(ctx, s.Client, []redisconn.Run{one})[0])
		r.suspect(err)
		return h, err
	}
	results, err := s.Repeat(ctx, beat, one)
	if err != nil {
		return membership.Nodes{}, err
	}
	return readBeat(results[0])
}

func readBeat(r rueidis.RedisResult) (h membership.Nodes, err error) {
	list, err := r.ToArray()
	if err == nil && len(list) < 2 {
		err = errDamaged
	}
	if err != nil {
		return membership.Nodes{}, err
	}
	at, err1 := list[0].AsInt64()
	news, err2 := list[1].AsInt64()
	texts := make([]string, len(list)-2)
	for i := range texts {
		if texts[i], err = list[2+i].ToString(); err != nil {
			return membership.Nodes{}, err
		}
	}
	h = membership.Nodes{Now: task.Millis(at), Found: membership.Found(news)}
	h.Peers, err = parsePeers(texts)
	return h, errors.Join(err1, err2, err)
}

// Announce implements membership.Registry. The message can be lost without harm,
// because the other nodes read the hash regularly anyway.
func (r *registry) Announce(ctx context.Context) {
	c := r.servers.Client
	err := c.Do(ctx, c.B().Spublish().Channel(r.servers.Keys.Changes).Message("").Build()).Error()
	r.servers.Failures.Note("notify the other nodes of a change", err)
}

// LiveNodes returns the nodes that sent a heartbeat within a lease.
func LiveNodes(ctx context.Context, s *redisconn.Servers, lease time.Duration) ([]string, error) {
	replies, err := s.Repeat(ctx, beat, redisconn.Run{Keys: []string{s.Keys.Nodes}, Args: []string{"", "", "", inMillis(10 * lease)}})
	if err != nil {
		return nil, err
	}
	h, err := readBeat(replies[0])
	if err != nil {
		return nil, err
	}
	var live []string
	for _, p := range h.Peers {
		if h.Now.Sub(p.Beat) <= lease {
			live = append(live, p.Name)
		}
	}
	slices.Sort(live)
	return live, nil
}

func inMillis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
