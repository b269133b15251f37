package redisconn

import (
	"errors"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/task"
)

// Loss is the error if the store is not the one that this process opened.
type Loss struct {
	Kind  error // task.ErrStoreReplaced or task.ErrSettingsLost
	Found string
}

// Error implements error.
func (l *Loss) Error() string { return fmt.Sprintf("%v: %s", l.Kind, l.Found) }

// Unwrap returns the kind.
func (l *Loss) Unwrap() error { return l.Kind }

// otherStore begins the reply of a script that found a different identity than
// its caller sent.
const otherStore = "FOLIOT_STORE"

// LossOf returns the Loss in err, nil if there is none.
func LossOf(err error) *Loss {
	if l, ok := errors.AsType[*Loss](err); ok {
		return l
	}
	if reply, ok := rueidis.IsRedisErr(err); ok {
		if key, is := strings.CutPrefix(reply.Error(), otherStore+" "); is {
			return &Loss{task.ErrStoreReplaced, "the key " + key + " does not have the identity of the store"}
		}
	}
	return nil
}
