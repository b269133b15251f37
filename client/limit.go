package client

import (
	"strconv"
	"time"

	"github.com/foliot/foliot/internal/timespan"
)

// Limit is the highest number of attempts. The zero Limit leaves the choice to
// the queue or, if the queue sets none, to the server.
type Limit int

// Unlimited sets no highest number of attempts: only Retry.MaxAge ends them.
const Unlimited Limit = -1

// String returns the number, or "unlimited".
func (l Limit) String() string {
	if l == Unlimited {
		return "unlimited"
	}
	return strconv.Itoa(int(l))
}

// wire returns l as the API writes it: there, 0 is no limit.
func (l Limit) wire() int {
	if l == Unlimited {
		return 0
	}
	return int(l)
}

// Duration is a time.Duration that may also be Forever. The zero Duration
// leaves the choice to the queue or, if the queue sets none, to the server.
type Duration time.Duration

// Forever is a Duration that does not end.
const Forever Duration = -1

// String returns the duration as Go writes it, without zero units, or "forever".
func (d Duration) String() string {
	if d == Forever {
		return "forever"
	}
	return timespan.Text(time.Duration(d))
}

// wire returns d as the API writes it: there, 0s is no limit.
func (d Duration) wire() string {
	if d == Forever {
		return "0s"
	}
	return timespan.Text(time.Duration(d))
}
