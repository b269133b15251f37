package verify

import (
	"testing"
	"time"
)

func TestTheVerdictOnARevocationCatchesWhatItIsFor(t *testing.T) {
	for name, c := range map[string]struct {
		millis float64
		status int
		want   Revocation
	}{
		"accepted before":                {100, 200, Revocation{Before: 1, Last: -4900 * time.Millisecond}},
		"refused before":                 {100, 401, Revocation{Before: 1, RefusedBefore: 1}},
		"no answer before":               {100, 0, Revocation{Before: 1, RefusedBefore: 1}},
		"refused while it was revoked":   {4970, 401, Revocation{Before: 1}},
		"accepted within the second":     {5500, 200, Revocation{Last: 500 * time.Millisecond}},
		"refused after it":               {6001, 401, Revocation{After: 1}},
		"accepted after it":              {6001, 200, Revocation{After: 1, Accepted: 1, Last: 1001 * time.Millisecond}},
		"not looked at after it":         {6001, 429, Revocation{After: 1}},
		"no clear answer after it":       {6001, 500, Revocation{After: 1, Accepted: 1}},
		"found, but forbidden, after it": {6001, 403, Revocation{After: 1, Accepted: 1}},
	} {
		got := CheckRevocation([]Probe{{at(c.millis), c.status}}, at(4990), at(5000))
		c.want.Last = max(c.want.Last, 0)
		if got != c.want {
			t.Errorf("%s: the verdict is %+v, want %+v", name, got, c.want)
		}
	}
}
