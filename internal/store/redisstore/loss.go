package redisstore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// loss says that the store is not the one that this process has opened.
type loss struct {
	kind  error // task.ErrStoreReplaced or task.ErrSettingsLost
	found string
}

func (l *loss) Error() string { return fmt.Sprintf("%v: %s", l.kind, l.found) }
func (l *loss) Unwrap() error { return l.kind }

// otherStore begins the reply of a script that found another identity than its caller's.
const otherStore = "FOLIOT_STORE"

// lossOf returns err as a loss, nil if it is none.
func lossOf(err error) *loss {
	var l *loss
	if errors.As(err, &l) {
		return l
	}
	if reply, ok := rueidis.IsRedisErr(err); ok {
		if key, is := strings.CutPrefix(reply.Error(), otherStore+" "); is {
			return &loss{task.ErrStoreReplaced, "the key " + key + " does not bear the identity of the store"}
		}
	}
	return nil
}
