package client_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
)

// The API writes no limit as 0, and no dead notice as an empty URL. It omits defaults.
func TestLimitsAreWrittenAsTheAPIDoes(t *testing.T) {
	for _, c := range []struct {
		spec client.Spec
		want string
	}{
		{client.Spec{}, `{"delay":"0s"}`},
		{client.Spec{
			ExpireAfter: client.Forever, OnDead: client.NoDeadNotice, Retry: client.Retry{MaxAttempts: client.Unlimited, MaxAge: client.Forever},
		}, `"on_dead":"" "expire_after":"0s" "max_attempts":0 "max_age":"0s"`},
		{client.Spec{
			ExpireAfter: client.Duration(time.Hour), OnDead: client.NotifyURL("http://x/"), Retry: client.Retry{MaxAttempts: 3},
		}, `"on_dead":"http://x/" "expire_after":"1h" "max_attempts":3`},
	} {
		got, err := json.Marshal(c.spec)
		fatal.If(t, err)
		for _, part := range strings.Fields(c.want) {
			if !strings.Contains(string(got), part) {
				t.Errorf("%s lacks %s", got, part)
			}
		}
	}
}
