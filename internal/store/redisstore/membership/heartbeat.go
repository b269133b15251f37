package membership

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// drainField begins the field of a drain. duplicateField begins the field of a
// duplicate: a process that shares its node name. deadField begins the field of
// a node that ended without notice. Node names have no slash.
const (
	drainField     = "drain/"
	duplicateField = "twin/"
	deadField      = "dead/"
)

// peer is a node as the hash of nodes describes it.
type peer struct {
	name, nonce, version, address string

	applied string // the version of the settings that it has applied
	more    string // further addresses of its API: host:port, separated by commas

	lag time.Duration // how far its trusted time is behind the servers' clocks, because those stepped ahead

	beat      task.Millis
	started   task.Millis
	draining  bool
	forced    bool // the drain was forced
	duplicate bool // another process had its name first: it owns nothing
	dead      bool // it ended without notice
}

// process returns the beginning of the owner ids of this node, without the
// epoch.
func (p *peer) process() string { return p.name + "/" + p.nonce }

// where returns the peer's address for log lines.
func (p *peer) where() string { return cmp.Or(p.address, "an unknown address") }

// about returns the description of a node that follows heartbeat and nonce in
// the hash.
func (p *peer) about() string {
	plain := strings.NewReplacer("/", "-")
	return fmt.Sprintf("%s/%d/%d/%s/%s/%s",
		plain.Replace(p.version), int64(p.started), p.lag.Milliseconds(), p.applied, plain.Replace(p.address), plain.Replace(p.more))
}

// maxAPIs bounds the addresses in a heartbeat, because every node reads the
// heartbeats of all nodes each second.
const maxAPIs = 16

// parsePeer reads a field of the hash. Fields that are missing at the end of
// the value are empty.
func parsePeer(name, value string) (peer, error) {
	parts := append(strings.SplitN(value, "/", 8), make([]string, 8)...)
	p := peer{name: name, nonce: parts[1], version: parts[2], applied: parts[5], address: parts[6], more: parts[7]}
	at, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return peer{}, fmt.Errorf("heartbeat %q of node %q: %w", value, name, errDamaged)
	}
	started, _ := strconv.ParseInt(parts[3], 10, 64)
	lag, _ := strconv.ParseInt(parts[4], 10, 64)
	p.beat, p.started, p.lag = task.Millis(at), task.Millis(started), time.Duration(lag)*time.Millisecond
	return p, nil
}

// parsePeers reads fields and values of the hash. The result is sorted by node
// name. A duplicate follows its original.
func parsePeers(list []string) ([]peer, error) {
	var peers []peer
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
		p.duplicate, p.dead = duplicate, dead
		peers = append(peers, p)
	}
	for i := range peers {
		p := &peers[i]
		drained, forced := strings.CutPrefix(drains[p.name], "!")
		p.draining = drained != "" && drained == p.nonce
		p.forced = p.draining && forced
	}
	slices.SortFunc(peers, func(a, b peer) int {
		switch order := cmp.Compare(a.name, b.name); {
		case order != 0 || a.duplicate == b.duplicate:
			return order
		case b.duplicate:
			return -1
		}
		return 1
	})
	return peers, nil
}

// apis returns host:port of the peer's APIs.
func (p *peer) apis() []string {
	return append(strings.FieldsFunc(p.more, func(r rune) bool { return r == ',' }), p.address)
}

// The modes of heartbeats.
const (
	beatAlive    = iota // this process is live; it takes its name from a process that is silent
	beatKeepName        // it is live, and takes no name from a process that is silent
	beatNoName          // it is live, and takes no name, even if the name seems free
	beatLeave           // it leaves
	readOnly            // it only reads, and sends no heartbeat
	readAll             // like readOnly, and reads dead nodes too
)

// The state of this process that a heartbeat found.
const (
	stood = iota
	moved // it was missing before, or has left now
	other // another live process has had its name longer
)

// keepDead is how long a node without heartbeats stays in the list for operators,
// so that they can see which node is missing. Nothing else reads it: a dead node
// must own no shard and hold up nothing.
const keepDead = time.Hour

// heartbeatReply is the reply to a heartbeat.
type heartbeatReply struct {
	peers []peer      // all nodes; in the mode readAll, dead ones too
	now   task.Millis // the server's clock
	found int         // the state of this process that the script found
}

// beat sends a heartbeat of the given mode. It does not retry, except in the
// modes that only read.
func (o *Member) beat(ctx context.Context, mode int) (heartbeatReply, error) {
	self := o.self
	if o.config.APIs != nil {
		more := o.config.APIs()
		self.more = strings.Join(more[:min(len(more), maxAPIs)], ",")
	}
	self.lag, self.applied = o.config.Lag(), o.config.Applied()
	args := []string{self.name, self.nonce, self.about(), inMillis(10 * o.config.silence()), inMillis(o.config.silence()), o.servers.Identity, inMillis(keepDead)}
	switch mode {
	case beatKeepName:
		args[4] = args[3]
	case beatNoName:
		args[4] = ""
	case beatLeave:
		args[2] = ""
	case readOnly:
		args[0], args[2] = "", ""
	case readAll:
		args[0], args[2] = "", ""
		args = append(args, "1")
	}
	one := redisconn.Run{Keys: []string{o.servers.Keys.Nodes, o.servers.Keys.NodesID}, Args: args}
	if mode != readOnly && mode != readAll {
		h, err := readBeat(beat.Do(ctx, o.servers.Client, []redisconn.Run{one})[0])
		o.config.Suspect(err)
		return h, err
	}
	results, err := o.servers.Repeat(ctx, beat, one)
	if err != nil {
		return heartbeatReply{}, err
	}
	return readBeat(results[0])
}

func readBeat(r rueidis.RedisResult) (h heartbeatReply, err error) {
	list, err := r.ToArray()
	if err == nil && len(list) < 2 {
		err = errDamaged
	}
	if err != nil {
		return heartbeatReply{}, err
	}
	at, err1 := list[0].AsInt64()
	news, err2 := list[1].AsInt64()
	texts := make([]string, len(list)-2)
	for i := range texts {
		if texts[i], err = list[2+i].ToString(); err != nil {
			return heartbeatReply{}, err
		}
	}
	h = heartbeatReply{now: task.Millis(at), found: int(news)}
	h.peers, err = parsePeers(texts)
	return h, errors.Join(err1, err2, err)
}

// announce makes the other nodes read the hash of nodes at once. The message
// can be lost without harm, because they read the hash regularly anyway.
func (o *Member) announce(ctx context.Context) {
	c := o.servers.Client
	err := c.Do(ctx, c.B().Spublish().Channel(o.servers.Keys.Changes).Message(o.Process).Build()).Error()
	o.servers.Failures.Note("notify the other nodes of a change", err)
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
	for _, p := range h.peers {
		if h.now.Sub(p.beat) <= lease {
			live = append(live, p.name)
		}
	}
	return live, nil
}

func inMillis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
