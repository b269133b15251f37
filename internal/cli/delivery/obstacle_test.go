package delivery

import (
	"strings"
	"testing"

	"github.com/foliot/foliot/client"
)

func TestTheReasonOfAMissingCallbackIsNamed(t *testing.T) {
	url := client.Spec{Queue: "mail", HTTP: client.HTTP{URL: "http://127.0.0.1:9000/"}}
	refused := []client.Attempt{{Number: 1, Error: "cannot connect to 127.0.0.1:9000: connection refused"}}
	for _, c := range []struct {
		task          client.Task
		why           string
		failed, ended bool
	}{
		{client.Task{Spec: url, State: client.StateScheduled}, "", false, false},
		{client.Task{Spec: url, State: client.StateRunning}, "", false, false},
		{client.Task{Spec: url, State: client.StateHeld, WaitsFor: client.WaitsFor{Reason: "purge", Detail: "the queue mail is being purged"}}, "the queue mail is being purged", false, false},
		{client.Task{Spec: url, State: client.StateScheduled, WaitsFor: client.WaitsFor{Reason: "turn", Detail: "others are first"}}, "", false, false},
		{client.Task{Spec: url, State: client.StateScheduled, Attempts: refused}, "an attempt failed: cannot connect to 127.0.0.1:9000: connection refused; note that the server calls http://127.0.0.1:9000/ from its own machine", true, false},
		{client.Task{Spec: url, State: client.StateDead, Attempts: []client.Attempt{{Status: 410}}}, "it is dead: status 410", true, true},
		{client.Task{Spec: url, State: client.StateCancelled}, "it is cancelled", true, true},
		{client.Task{Spec: url, State: client.StateDelivered}, "another receiver answered at http://127.0.0.1:9000/", true, true},
	} {
		got := obstacleOf(&c.task)
		if !strings.Contains(got.Why, c.why) || (got.Why == "") != (c.why == "") || got.Failed != c.failed || got.Ended != c.ended {
			t.Errorf("%s %v: %+v", c.task.State, c.task.Attempts, got)
		}
	}
}
