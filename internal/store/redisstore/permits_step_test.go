package redisstore

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/store"
	"github.com/foliot/foliot/internal/store/permits"
)

// setBack shifts the times in a scope's keys into the future, as if the
// server's clock had been set back.
func setBack(t *testing.T, c rueidis.Client, scope store.PermitScope, by time.Duration) {
	t.Helper()
	for i, times := range [][]int{{2, 3, 4}, {2, 3, 5, 7}} {
		key := storeKeys.Permits(permits.Name(scope))[i]
		all, err := c.Do(t.Context(), c.B().Hgetall().Key(key).Build()).AsStrMap()
		fatal.If(t, err)
		for field, value := range all {
			words := strings.Fields(value)
			if field == "tat" {
				times = []int{0}
			} else if field == "interval" {
				continue
			}
			for _, n := range times {
				if at, _ := strconv.ParseFloat(words[n], 64); at > 0 {
					words[n] = strconv.FormatFloat(at+float64(by.Microseconds()), 'f', 0, 64)
				}
			}
			if field == "tat" {
				times = []int{2, 3, 5, 7}
			}
			fatal.If(t, c.Do(t.Context(), c.B().Hset().Key(key).FieldValue().FieldValue(field, strings.Join(words, " ")).Build()).Error())
		}
	}
}

func TestAStepBackOfTheClockStopsNoQueueWithLimits(t *testing.T) {
	t.Parallel()
	c := redisClient(t)
	const lease = 300 * time.Millisecond
	one := settings.QueueSettings{Concurrency: 1, Rate: 100, Burst: 4}
	dead, lives, other := newPartner(t, c, "dead", lease), newPartner(t, c, "lives", lease), newPartner(t, c, "other", lease)
	dead.ask(one, 1, 2, false)
	for lives.ask(one, 0, 4, false); lives.start(time.Now()); {
	}
	lives.ask(one, 0, 0, false)
	setBack(t, c, dead.scope, time.Hour)
	eventually(t, "what the dead had is free after a lease", func() bool {
		r, _ := lives.ask(one, 1, 4, false)
		return r.Held == 1 && r.Tokens == 4
	})
	other.ask(one, 1, 0, false)
	setBack(t, c, dead.scope, time.Hour)
	eventually(t, "it is the other's turn", func() bool {
		other.ask(one, 1, 0, false)
		r, _ := lives.ask(one, 1, 0, false)
		return r.Share == 0
	})
}
