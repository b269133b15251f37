package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAnswers bounds the series, in case a caller passes routes that are not
// from a fixed table.
const maxAnswers = 2000

var requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// requests counts the API's requests.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	answers  *children[answer, answered]
}

// answer holds the labels of a request.
type answer struct {
	route, method string
	status        int
}

type answered struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

func newRequests(r prometheus.Registerer) requests {
	q := requests{
		answers: new(children[answer, answered]),
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
// such as /v1/tasks/{name}, never the path. method must be one of a few values.
func (m *Metrics) Request(route, method string, status int, d time.Duration) {
	r := &m.requests
	key := answer{route, method, status}
	a := r.answers.get(key)
	if a == nil {
		a = r.answer(key)
	}
	a.total.Inc()
	a.duration.Observe(d.Seconds())
}

// answer creates the series of an answer, or returns the shared series if there
// are too many.
func (r *requests) answer(a answer) *answered {
	if r.answers.len() >= maxAnswers {
		a = answer{route: other, method: other}
	}
	return r.answers.add(a, func() *answered {
		return &answered{
			total:    r.total.WithLabelValues(a.route, a.method, strconv.Itoa(a.status)),
			duration: r.duration.WithLabelValues(a.route, a.method),
		}
	})
}
