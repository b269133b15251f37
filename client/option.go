package client

import (
	"crypto/rand"
	"slices"
	"strconv"
	"time"

	"github.com/foliot/foliot/client/internal/conn"
	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/timespan"
)

// CallOption changes one call. The comment of each method lists the options that
// it takes. With another option, it sends nothing and returns an Error with the
// Code bad_option.
//
// [IfMatch] and [IfNoneMatch] are conditions: they must hold when the server
// applies the change. Otherwise the call changes nothing and returns
// ErrPrecondition.
type CallOption struct{ option conn.Option }

// Key sets the Idempotency-Key of a call, 1 to 256 printable ASCII characters.
// All calls with one key, from any process, have one effect. Later calls change
// nothing and return the task as it is then, even if the conditions no longer
// hold. The server remembers the key as long as it keeps the task's record, and
// of each name that is put the last few keys. With the same key and another
// request, a call returns ErrKeyReused. Default: a key that is used once.
func Key(key string) CallOption {
	return CallOption{conn.Option{Name: "Key", Header: "Idempotency-Key", Value: key}}
}

// IfMatch requires that no client changed the record since it had that entity
// tag. The ETag methods of Task, Schedule and Queue return it, and "*" requires
// that the record exists.
func IfMatch(etag string) CallOption {
	return CallOption{conn.Option{Name: "IfMatch", Header: "If-Match", Value: etag}}
}

// IfNoneMatch requires that the record does not exist: a Put with it only
// creates.
func IfNoneMatch() CallOption {
	return CallOption{conn.Option{Name: "IfNoneMatch", Header: "If-None-Match", Value: "*"}}
}

// Expect requires that exactly n tasks match, at most a million. Otherwise the
// call changes nothing and returns ErrCount, and the Error's Count is the number
// of matching tasks.
func Expect(n int) CallOption {
	return CallOption{conn.Option{Name: "Expect", Param: "expect", Value: strconv.Itoa(n)}}
}

// Until sets the time at which a pause ends by itself.
func Until(t time.Time) CallOption {
	return CallOption{conn.Option{Name: "Until", Value: convert.Instant(t)}}
}

// For sets how long a pause lasts, counted by the server.
func For(d time.Duration) CallOption {
	return CallOption{conn.Option{Name: "For", Value: timespan.Text(d)}}
}

// Force makes a call of package client/admin go on although the server can then
// no longer be managed, or delivers nothing.
func Force() CallOption {
	return CallOption{conn.Option{Name: "Force", Param: "force", Value: "true"}}
}

// Children makes a call about a token of package client/admin include the tokens
// that it created, directly or through other tokens.
func Children() CallOption {
	return CallOption{conn.Option{Name: "Children", Param: "children", Value: "true"}}
}

func given(opts []CallOption) []conn.Option {
	all := make([]conn.Option, len(opts))
	for i, o := range opts {
		all[i] = o.option
	}
	return all
}

// keyed returns the options of a call that has an Idempotency-Key: by default
// one of its own.
func keyed(opts []CallOption) []conn.Option {
	all := given(opts)
	if !slices.ContainsFunc(all, func(o conn.Option) bool { return o.Name == "Key" }) {
		all = append(all, Key(rand.Text()).option)
	}
	return all
}
