package postgres

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/admin"
	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire"
	"github.com/foliot/foliot/remote"
)

// An open transaction has locked a task. Over HTTP another change is refused with 409, and
// a remote client gets the error of a node.
func TestAChangeOfALockedTaskIsRefusedEverywhere(t *testing.T) {
	s := opened(t, nil)
	_, err := closeOrder.In(t.Context(), s, "held", time.Hour, order{})
	fatal.If(t, err)
	api := admin.New(s.Node, func(*http.Request) admin.Access { return admin.Admin })
	defer api.Close()
	server := httptest.NewServer(api)
	defer server.Close()
	c, err := client.New(server.URL, client.Options{})
	fatal.If(t, err)
	defer c.Close()
	tx, err := s.pool.Begin(t.Context())
	fatal.If(t, err)
	_, err = Tx(s.Node, tx).Cancel(t.Context(), "held")
	fatal.If(t, err)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, server.URL+"/v1/tasks/held", nil)
	fatal.If(t, err)
	resp, err := server.Client().Do(req)
	fatal.If(t, err)
	defer func() { _ = resp.Body.Close() }()
	var p wire.Problem
	fatal.If(t, json.NewDecoder(resp.Body).Decode(&p))
	if resp.StatusCode != http.StatusConflict || p.Code != "locked" || resp.Header.Get("Retry-After") != "1" || !strings.Contains(p.Detail, "which began ") {
		t.Errorf("%s, Retry-After %q, %+v", resp.Status, resp.Header.Get("Retry-After"), p)
	}
	for name, tasks := range map[string]foliot.Scheduler{"node": s, "remote client": remote.New(c)} {
		if _, err := tasks.Cancel(t.Context(), "held"); !errors.Is(err, foliot.ErrUnavailable) || !strings.Contains(err.Error(), "has locked the task") {
			t.Errorf("%s: %v", name, err)
		}
	}
	fatal.If(t, tx.Rollback(t.Context()))
	if _, err := remote.New(c).Cancel(t.Context(), "held"); err != nil {
		t.Error(err)
	}
}
