package task

import (
	"cmp"
	"time"
)

// The defaults of a task whose queue sets none.
const (
	DefaultTimeout    = 15 * time.Second
	DefaultMinBackoff = time.Second
	DefaultMaxBackoff = time.Hour
	DefaultMaxAge     = 24 * time.Hour
	DefaultMethod     = "POST"
)

// DefaultSpec returns a Spec with every default in place.
func DefaultSpec() Spec {
	return Spec{
		Key:      Key{Namespace: DefaultNamespace},
		Queue:    DefaultQueue,
		Priority: Normal,
		Request:  Request{Method: DefaultMethod},
		Timeout:  DefaultTimeout,
		Retry: Retry{
			MinBackoff: DefaultMinBackoff,
			MaxBackoff: DefaultMaxBackoff,
			MaxAge:     DefaultMaxAge,
		},
	}
}

// Policy holds the operator's settings for records that are no longer live.
type Policy struct {
	KeepFinished time.Duration
	KeepDead     time.Duration
	KeepBodies   bool // keep the bodies of finished tasks until their retention ends
}

// The retention of the embedded store.
const (
	DefaultKeepFinished = 24 * time.Hour
	DefaultKeepDead     = 30 * 24 * time.Hour
)

// WithDefaults returns p with its zero fields filled.
func (p Policy) WithDefaults() Policy {
	p.KeepFinished = cmp.Or(p.KeepFinished, DefaultKeepFinished)
	p.KeepDead = cmp.Or(p.KeepDead, DefaultKeepDead)
	return p
}
