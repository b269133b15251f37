package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/settings"
	"github.com/foliot/foliot/internal/wire"
)

func TestACallerLearnsItsRights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t)
		whoami := func(headers ...string) (me wire.Identity) {
			s.do("GET", "/v1/whoami", "", headers...).want(200, &me)
			return me
		}
		open := whoami()
		if open.Namespace != "default" || open.Scope != "admin" || !open.Operator || open.Secured || open.Token != nil {
			t.Errorf("a server without tokens: %+v", open)
		}
		if open.Version != "test" || open.Store != "embedded" || open.Durability != "memory" || open.Node != "" || open.Now != wire.FormatTime(time.Now()) {
			t.Errorf("the server: %+v", open)
		}
		s.namespace("acme")
		operator := s.token("*", settings.ScopeRead)
		if me := whoami(operator, "Foliot-Namespace: acme"); me.Namespace != "acme" || me.Scope != "read" || !me.Operator || !me.Secured {
			t.Errorf("an operator: %+v", me)
		}
		me := whoami(s.token("acme", settings.ScopeWrite))
		if me.Namespace != "acme" || me.Scope != "write" || me.Operator || !me.Secured {
			t.Errorf("a namespace's token: %+v", me)
		}
		if me.Token == nil || me.Token.Namespace != "acme" || me.Token.Scope != "write" || me.Token.Token != "" || me.Token.State != "active" {
			t.Errorf("the token's record: %+v", me.Token)
		}
	})
}
