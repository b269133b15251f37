package verify

import (
	"strings"
	"testing"
)

func TestTheVerdictOnAFullDisk(t *testing.T) {
	made := DiskRequest{Name: "a", Op: CreateTask, Due: at(100), Status: 201, At: at(10)}
	create := func(status int, code string) DiskRequest {
		q := made
		q.Status, q.Code = status, code
		return q
	}
	cancel := func(status int) DiskRequest {
		return DiskRequest{Name: "a", Op: CancelTask, Status: status, At: at(50)}
	}
	unsent := DiskRequest{Name: "a", Op: CancelTask, Unsent: true, At: at(50)}
	patch := func(n, status int) DiskRequest {
		return DiskRequest{Name: "a", Op: PatchTask, Patch: n, Due: at(120), Status: status, At: at(30)}
	}
	for _, c := range []struct {
		name     string
		requests []DiskRequest
		record   DiskRecord // without a state: there is none
		arrived  bool
		lost     bool
		wrong    bool
	}{
		{"delivered", []DiskRequest{made}, DiskRecord{State: "delivered"}, true, false, false},
		{"lost", []DiskRequest{made}, DiskRecord{}, false, true, true},
		{"never delivered", []DiskRequest{made}, DiskRecord{State: "scheduled"}, false, true, true},
		{"called delivered, and no receiver got it", []DiskRequest{made}, DiskRecord{State: "delivered"}, false, true, true},
		{"dead", []DiskRequest{made}, DiskRecord{State: "dead"}, true, false, true},
		{"delivered, and its record is gone", []DiskRequest{made}, DiskRecord{}, true, false, true},
		{"cancelled by nobody", []DiskRequest{made}, DiskRecord{State: "cancelled"}, false, true, true},
		{"cancelled", []DiskRequest{made, cancel(200)}, DiskRecord{State: "cancelled"}, false, false, false},
		{"the cancel's 200 did not hold", []DiskRequest{made, cancel(200)}, DiskRecord{State: "delivered"}, true, false, true},
		{"a cut cancel that held", []DiskRequest{made, cancel(0)}, DiskRecord{State: "cancelled"}, false, false, false},
		{"a cut cancel that did not hold", []DiskRequest{made, cancel(0)}, DiskRecord{State: "delivered"}, true, false, false},
		{"a cut cancel, and a third state", []DiskRequest{made, cancel(0)}, DiskRecord{State: "scheduled"}, false, false, true},
		{"a cancel answered 503 that held", []DiskRequest{made, cancel(503)}, DiskRecord{State: "cancelled"}, false, false, false},
		{"a cancel that was refused", []DiskRequest{made, cancel(409)}, DiskRecord{State: "cancelled"}, false, true, true},
		{"a cancel that never reached the server", []DiskRequest{made, unsent}, DiskRecord{State: "cancelled"}, false, true, true},
		{"a cut create that held", []DiskRequest{create(0, "")}, DiskRecord{State: "delivered"}, true, false, false},
		{"a cut create that did not hold", []DiskRequest{create(503, "unavailable")}, DiskRecord{}, false, false, false},
		{"a cut create that stays", []DiskRequest{create(0, "")}, DiskRecord{State: "scheduled"}, false, false, true},
		{"a create that was refused and made", []DiskRequest{create(503, fullStore)}, DiskRecord{State: "delivered"}, true, false, true},
		{"the last answered patch is there", []DiskRequest{made, patch(1, 200), patch(2, 0)}, DiskRecord{State: "delivered", Patch: 1}, true, false, false},
		{"a cut patch that held", []DiskRequest{made, patch(1, 0)}, DiskRecord{State: "delivered", Patch: 1}, true, false, false},
		{"an answered patch is lost", []DiskRequest{made, patch(1, 200), patch(2, 200)}, DiskRecord{State: "delivered", Patch: 1}, true, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := DiskEvidence{Requests: c.requests}
			if c.record.State != "" {
				c.record.Name = "a"
				e.Records = []DiskRecord{c.record}
			}
			if c.arrived {
				e.Arrived = []Arrived{callback("a", 121)}
			}
			v := JudgeDisk(e)
			if lost, wrong := len(v.Lost) > 0, len(v.Wrong) > 0; lost != c.lost || wrong != c.wrong {
				t.Errorf("lost: %v, want %v; wrong: %v, want %v (%s)", lost, c.lost, wrong, c.wrong, strings.Join(v.Wrong, "; "))
			}
			if c.wrong && !strings.Contains(v.Wrong[0], CancelTask) && len(c.requests) > 1 && c.requests[1].Op == CancelTask {
				t.Errorf("the history is not shown: %s", v.Wrong[0])
			}
		})
	}
}
