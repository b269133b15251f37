package webhook

import (
	"bufio"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/foliot/foliot/internal/task"
)

// answerer replies to each request with 200 at almost no cost, so that the
// benchmark measures the sender.
func answerer(b *testing.B) string {
	return rawServer(b, func(_ int, c net.Conn) {
		in := bufio.NewReader(c)
		for {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"); err != nil {
				return
			}
		}
	})
}

func BenchmarkAttempt(b *testing.B) {
	for _, c := range []struct {
		name string
		edit func(*task.Spec)
	}{
		{"GET", method("GET")},
		{"POST-100B", body(task.JSONBody, `{"order":`+string(make([]byte, 90))+`}`)},
		{"POST-256KiB", body(task.BinaryBody, string(make([]byte, 256<<10)))},
	} {
		b.Run(c.name, func(b *testing.B) {
			s, d := newSender(b, Config{}), delivery(b, answerer(b), c.edit)
			d.Live = func() error { return nil }
			b.ReportAllocs()
			for b.Loop() {
				if o := s.Deliver(b.Context(), d); o.Verdict != task.Success {
					b.Fatal(o)
				}
			}
		})
	}
}

// BenchmarkAttemptsAtOnce keeps 256 signed attempts under way: to a receiver
// with almost no cost, to one made with net/http, and to one made with net/http
// over TLS. All of them share the processors with the sender.
func BenchmarkAttemptsAtOnce(b *testing.B) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(ok), httptest.NewUnstartedServer(ok)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that end with the benchmark
	secure.StartTLS()
	defer plain.Close()
	defer secure.Close()
	for _, c := range []struct{ name, url string }{{"bare", answerer(b)}, {"http", plain.URL}, {"https", secure.URL}} {
		b.Run(c.name, func(b *testing.B) {
			s := newSender(b, Config{Secrets: func(string, string) [][]byte { return [][]byte{older} }})
			d := delivery(b, c.url, body(task.JSONBody, `{"order":42}`))
			d.Live = func() error { return nil }
			trust(s, secure)
			b.ReportAllocs()
			b.SetParallelism(128)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if o := s.Deliver(b.Context(), d); o.Verdict != task.Success {
						b.Error(o)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
		})
	}
}
