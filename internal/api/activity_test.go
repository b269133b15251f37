package api_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/activity"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/servertest"
	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

func TestANamespaceSeesItsOwnAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var filter activity.Filter
		var detailed bool
		s := serve(t, func(c *api.Config) {
			c.Engine = servertest.Engine{
				OnAttempts: func(f activity.Filter, d bool) wire.AttemptList {
					filter, detailed = f, d
					return wire.AttemptList{Since: "2030-01-01T00:00:00.000Z", Attempts: []wire.EndedAttempt{}}
				},
			}
		})
		s.namespace("acme")
		time.Sleep(2 * time.Hour)
		operator, own := s.token("*", settings.ScopeRead), s.token("acme", settings.ScopeRead)
		for _, c := range []struct {
			headers   []string
			namespace string
			operator  bool
		}{
			{[]string{own}, "acme", false}, {[]string{operator}, "", true}, {[]string{operator, "Foliot-Namespace: acme"}, "acme", true},
		} {
			list := decoded[wire.AttemptList](s.do("GET", "/v1/attempts?queue=mail&outcome=failed&outcome=refused&limit=5", "", c.headers...), 200)
			if filter.Namespace != c.namespace || detailed != c.operator || filter.Queue != "mail" || filter.Limit != 5 || !slices.Equal(filter.Outcomes, []string{"failed", "refused"}) || list.Since == "" {
				t.Errorf("%v: %+v, detailed %v, complete after %q", c.headers, filter, detailed, list.Since)
			}
		}
		if created := s.store.Standing().Settings.Namespace("acme").CreatedAt; filter.Since != 0 || created == 0 {
			t.Errorf("an operator sees attempts since %d", filter.Since)
		} else if s.do("GET", "/v1/attempts", "", own).want(200, nil); filter.Since != created {
			t.Errorf("the namespace's token sees attempts since %d, before the namespace existed", filter.Since)
		}
		for query, code := range map[string]string{"attempts?outcome=good": "bad_parameter", "attempts?queue=@": "bad_name", "attempts?limit=1001": "bad_parameter"} {
			if r := s.do("GET", "/v1/"+query, "", own); r.status != 400 {
				t.Errorf("%s: %d, want %s", query, r.status, code)
			}
		}
	})
	serve(t).do("GET", "/v1/attempts", "").problem(501, "unsupported", "")
}
