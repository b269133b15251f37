package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAnswers bounds the pairs of route and status, should a caller name routes
// by something else than its own table.
const maxAnswers = 1000

var requestBuckets = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// requests counts the API's requests.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	answers  *children[answer, answered]
	others   *answered
}

// answer is what requests are told apart by.
type answer struct {
	route  string
	status int
}

type answered struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

func newRequests(r prometheus.Registerer) requests {
	q := requests{
		answers: new(children[answer, answered]),
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "foliot_api_requests_total", Help: "Requests that the API answered, by route and status.",
		}, []string{"route", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "foliot_api_request_duration_seconds", Buckets: requestBuckets,
			Help: "From a request's header to the end of its reply, by route. A read with ?wait= takes as long as it waits.",
		}, []string{"route"}),
	}
	r.MustRegister(q.total, q.duration)
	q.others = q.resolve(answer{route: other})
	return q
}

// Request counts a request that was answered. route is the pattern that took
// it, such as "POST /v1/tasks", never its path; "" where none did.
func (m *Metrics) Request(route string, status int, d time.Duration) {
	r := &m.requests
	key := answer{route: route, status: status}
	a := r.answers.get(key)
	if a == nil {
		if a = r.answers.add(key, maxAnswers, func() *answered { return r.resolve(key) }); a == nil {
			a = r.others
		}
	}
	a.total.Inc()
	a.duration.Observe(d.Seconds())
}

func (r *requests) resolve(a answer) *answered {
	if a.route == "" {
		a.route = "none"
	}
	return &answered{
		total:    r.total.WithLabelValues(a.route, strconv.Itoa(a.status)),
		duration: r.duration.WithLabelValues(a.route),
	}
}
