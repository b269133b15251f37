package lanes

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/foliot/foliot/internal/store/codec"
	"github.com/foliot/foliot/internal/store/membership"
	"github.com/foliot/foliot/internal/store/redisstore/keyspace"
	"github.com/foliot/foliot/internal/store/redisstore/redisconn"
	"github.com/foliot/foliot/internal/task"
)

// wakeAhead returns how soon a task must be due for its owner to be notified. A
// poll finds later tasks early enough, even if the poll is late.
func (x *Index) wakeAhead() time.Duration { return pollsAlone*x.config.Poll + time.Second/2 }

// Wake notifies the owner of t's shard if that is another node. It does so if t
// is due soon, or if there is a notice: see task.Notice.
func (x *Index) Wake(it *redisconn.Item, old, t *task.Task) {
	if t == nil || x.own.Shard(it.Shard) != nil {
		return
	}
	e, notice := task.Notice(old, t)
	if !notice {
		if e = t.Entry(); t.State != task.Scheduled || e.Due > x.config.Now().Add(x.wakeAhead()) {
			return
		}
	}
	it.Write("WAKE", it.Shard.Own, membership.NoOwner, it.Shard.Wake, wakeMessage(e))
}

// wakeMessage encodes an entry as a message. Neither name nor due time has a
// slash. The message has no kind of hint: without a due time a schedule stands
// for OccurrenceEnded, and a task for CancelRequested.
func wakeMessage(e task.Entry) string {
	return redisconn.Score(e.Due) + "/" + e.Name + "/" + keyspace.LaneMember(e.Lane)
}

func parseWake(message string) (task.Entry, error) {
	parts := strings.SplitN(message, "/", 3)
	if len(parts) != 3 {
		return task.Entry{}, fmt.Errorf("wake-up %q: %w", message, codec.ErrDamaged)
	}
	due, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return task.Entry{}, fmt.Errorf("wake-up %q: %w", message, codec.ErrDamaged)
	}
	lane, err := keyspace.ParseLane(parts[2])
	e := task.Entry{Name: parts[1], Lane: lane, Due: task.Millis(due)}
	switch {
	case due != 0:
	case lane.Queue == task.ScheduleQueue:
		e.Hint = task.OccurrenceEnded
	default:
		e.Hint = task.CancelRequested
	}
	return e, err
}

// HandleWakeup adds the entry of another node's message to an owned shard.
func (x *Index) HandleWakeup(message string) {
	e, err := parseWake(message)
	if err != nil {
		x.config.Logger.Warn("a message of another node was unreadable: its tasks may start up to one poll interval late", "error", err)
		return
	}
	x.own.Added([]task.Entry{e})
}
