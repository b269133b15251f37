package admin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	clientadmin "github.com/foliot/foliot/client/admin"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/remote"
)

// A tenant of the store could start the handlers of a program, with tasks of
// their kinds in the namespace of the tenant.
func TestAProgramRunsTheTasksOfItsNamespaceAndOfOthersOnlyIfItSaysSo(t *testing.T) {
	for all, want := range map[bool]map[string]client.State{
		false: {"shop": client.StateDelivered, "tenant": client.StateScheduled},
		true:  {"shop": client.StateDelivered, "tenant": client.StateDelivered},
	} {
		synctest.Test(t, func(t *testing.T) {
			mux := new(foliot.Mux)
			closeOrder.Handle(mux, func(context.Context, *foliot.Task[order]) error { return nil })
			n := foliottest.StartWith(t, mux, foliot.Options{Namespace: "shop", AllNamespaces: all})
			api := admin.New(n, func(*http.Request) admin.Access { return admin.Admin })
			for namespace, state := range want {
				c, err := client.New("http://program", client.Options{Namespace: namespace, HTTPClient: &http.Client{Transport: served{api}}})
				fatal.If(t, err)
				defer c.Close()
				operator, err := client.New("http://program", client.Options{HTTPClient: &http.Client{Transport: served{api}}})
				fatal.If(t, err)
				defer operator.Close()
				fatal.If(t, errOf(clientadmin.New(operator).Namespaces.Put(t.Context(), namespace, clientadmin.NamespaceSettings{Kinds: namespace != "shop"})))
				fatal.If(t, errOf(closeOrder.In(t.Context(), remote.New(c), "close-1", 0, order{})))
				time.Sleep(10 * time.Second)
				got, err := c.Tasks.Get(t.Context(), "close-1")
				fatal.If(t, err)
				runner := got.WaitsFor.Reason == "runner"
				if got.State != state || runner != (state == client.StateScheduled) {
					t.Errorf("AllNamespaces %v: the task of %s is %s, waits for %+v; want %s", all, namespace, got.State, got.WaitsFor, state)
				}
			}
		})
	}
}

// served sends requests to a handler without a network.
type served struct{ http.Handler }

func (s served) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result(), nil
}
