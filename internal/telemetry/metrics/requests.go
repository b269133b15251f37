package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// requests counts the API's requests.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newRequests(r prometheus.Registerer) requests {
	q := requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_api_requests_total", Help: "Requests that the API answered. The route is other if no route matched. The status is 0 if the client disconnected before the reply.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "foliot_api_request_duration_seconds", Buckets: requestBuckets,
			Help: "From a request's header to the end of its reply. A read with ?wait= includes its wait.",
		}, []string{"route", "method"}),
	}
	r.MustRegister(q.total, q.duration)
	return q
}

// Request counts an answered request. route must be the pattern that matched,
// such as /v1/tasks/{name}, never the path, and method must be one of a few
// values.
func (m *Metrics) Request(route, method string, status int, d time.Duration) {
	m.requests.total.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.requests.duration.WithLabelValues(route, method).Observe(d.Seconds())
}
