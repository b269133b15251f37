package verify

import (
	"net/http"
	"time"
)

// Probe is one request with a token.
type Probe struct {
	Sent   time.Time
	Status int // zero means that no reply came
}

// Revocation is the result of CheckRevocation.
type Revocation struct {
	Before, RefusedBefore int           // probes answered before the revocation was requested
	After, Accepted       int           // probes sent more than a second after the reply to the revocation
	Last                  time.Duration // from that reply until the last accepted probe was sent
}

// CheckRevocation judges the probes of a token around its revocation. The request and
// the reply of the revocation were at these moments. It is a pure function.
func CheckRevocation(probes []Probe, asked, answered time.Time) (v Revocation) {
	for _, p := range probes {
		accepted := p.Status == http.StatusOK
		switch {
		case p.Sent.Before(asked):
			v.Before++
			// One that is under way while it is revoked may be refused.
			if !accepted && p.Sent.Before(asked.Add(-WireDelay/2)) {
				v.RefusedBefore++
			}
		case p.Sent.After(answered.Add(time.Second)):
			v.After++
			if p.Status != http.StatusUnauthorized && p.Status != http.StatusTooManyRequests { // refused, or limited before the token was checked
				v.Accepted++
			}
		}
		if accepted {
			v.Last = max(v.Last, p.Sent.Sub(answered))
		}
	}
	return v
}
