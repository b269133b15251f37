package main

import (
	"strings"
	"testing"
)

func TestTheVerdictOnAFullDisk(t *testing.T) {
	made := diskRequest{Name: "a", Op: createTask, Due: at(100), Status: 201, At: at(10)}
	create := func(status int, code string) diskRequest {
		q := made
		q.Status, q.Code = status, code
		return q
	}
	cancel := func(status int) diskRequest {
		return diskRequest{Name: "a", Op: cancelTask, Status: status, At: at(50)}
	}
	unsent := diskRequest{Name: "a", Op: cancelTask, Unsent: true, At: at(50)}
	patch := func(n, status int) diskRequest {
		return diskRequest{Name: "a", Op: patchTask, Patch: n, Due: at(120), Status: status, At: at(30)}
	}
	for _, c := range []struct {
		name     string
		requests []diskRequest
		record   diskRecord // without a state: there is none
		arrived  bool
		lost     bool
		wrong    bool
	}{
		{"delivered", []diskRequest{made}, diskRecord{State: "delivered"}, true, false, false},
		{"lost", []diskRequest{made}, diskRecord{}, false, true, true},
		{"never delivered", []diskRequest{made}, diskRecord{State: "scheduled"}, false, true, true},
		{"called delivered, and no receiver got it", []diskRequest{made}, diskRecord{State: "delivered"}, false, true, true},
		{"dead", []diskRequest{made}, diskRecord{State: "dead"}, true, false, true},
		{"delivered, and its record is gone", []diskRequest{made}, diskRecord{}, true, false, true},
		{"cancelled by nobody", []diskRequest{made}, diskRecord{State: "cancelled"}, false, true, true},
		{"cancelled", []diskRequest{made, cancel(200)}, diskRecord{State: "cancelled"}, false, false, false},
		{"the cancel's 200 did not hold", []diskRequest{made, cancel(200)}, diskRecord{State: "delivered"}, true, false, true},
		{"a cut cancel that held", []diskRequest{made, cancel(0)}, diskRecord{State: "cancelled"}, false, false, false},
		{"a cut cancel that did not hold", []diskRequest{made, cancel(0)}, diskRecord{State: "delivered"}, true, false, false},
		{"a cut cancel, and a third state", []diskRequest{made, cancel(0)}, diskRecord{State: "scheduled"}, false, false, true},
		{"a cancel answered 503 that held", []diskRequest{made, cancel(503)}, diskRecord{State: "cancelled"}, false, false, false},
		{"a cancel that was refused", []diskRequest{made, cancel(409)}, diskRecord{State: "cancelled"}, false, true, true},
		{"a cancel that never reached the server", []diskRequest{made, unsent}, diskRecord{State: "cancelled"}, false, true, true},
		{"a cut create that held", []diskRequest{create(0, "")}, diskRecord{State: "delivered"}, true, false, false},
		{"a cut create that did not hold", []diskRequest{create(503, "unavailable")}, diskRecord{}, false, false, false},
		{"a cut create that stays", []diskRequest{create(0, "")}, diskRecord{State: "scheduled"}, false, false, true},
		{"a create that was refused and made", []diskRequest{create(503, fullStore)}, diskRecord{State: "delivered"}, true, false, true},
		{"the last answered patch is there", []diskRequest{made, patch(1, 200), patch(2, 0)}, diskRecord{State: "delivered", Patch: 1}, true, false, false},
		{"a cut patch that held", []diskRequest{made, patch(1, 0)}, diskRecord{State: "delivered", Patch: 1}, true, false, false},
		{"an answered patch is lost", []diskRequest{made, patch(1, 200), patch(2, 200)}, diskRecord{State: "delivered", Patch: 1}, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := diskEvidence{Requests: c.requests}
			if c.record.State != "" {
				c.record.Name = "a"
				e.Records = []diskRecord{c.record}
			}
			if c.arrived {
				e.Arrived = []arrived{callback("a", 121)}
			}
			v := judgeDisk(e)
			if lost, wrong := len(v.Lost) > 0, len(v.Wrong) > 0; lost != c.lost || wrong != c.wrong {
				t.Errorf("lost: %v, want %v; wrong: %v, want %v (%s)", lost, c.lost, wrong, c.wrong, strings.Join(v.Wrong, "; "))
			}
			if c.wrong && !strings.Contains(v.Wrong[0], cancelTask) && len(c.requests) > 1 && c.requests[1].Op == cancelTask {
				t.Errorf("the history is not shown: %s", v.Wrong[0])
			}
		})
	}
}
