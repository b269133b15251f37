package metrics

import (
	"math"
	"testing"
	"time"
)

func TestARequestIsCountedUnderItsRoute(t *testing.T) {
	m := New(Config{})
	m.Request("/v1/tasks/{name}", "GET", 200, 3*time.Millisecond)
	m.Request("/v1/tasks/{name}", "GET", 200, 5*time.Millisecond)
	m.Request("/v1/tasks/{name}", "GET", 404, time.Millisecond)
	m.Request("/v1/tasks/{name}", "DELETE", 200, time.Millisecond)
	for _, c := range []struct {
		method, status string
		want           float64
	}{{"GET", "200", 2}, {"GET", "404", 1}, {"DELETE", "200", 1}, {"DELETE", "404", -1}} {
		wantValue(t, m, c.want, "foliot_api_requests_total", "route", "/v1/tasks/{name}", "method", c.method, "status", c.status)
	}
	took := find(t, m, "foliot_api_request_duration_seconds", "method", "GET").GetHistogram()
	if took.GetSampleCount() != 3 || math.Abs(took.GetSampleSum()-0.009) > 1e-9 {
		t.Errorf("%d requests took %v", took.GetSampleCount(), took.GetSampleSum())
	}
}
