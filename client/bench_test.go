package client_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/foliot/foliot/client"
	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/store/memstore"
)

// BenchmarkCreate compares creates by 64 goroutines of one client, with and
// without batching, with requests of 64 goroutines to a server that does nothing.
func BenchmarkCreate(b *testing.B) {
	const goroutines = 64
	spec := hour("")
	spec.HTTP.Body = client.JSON(map[string]int{"order": 42})
	body, err := spec.MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, once func() error) {
		b.ReportAllocs()
		b.SetParallelism(goroutines / runtime.GOMAXPROCS(0))
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := once(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	b.Run("empty", func(b *testing.B) {
		srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
		defer srv.Close()
		transport := &http.Transport{MaxIdleConnsPerHost: goroutines}
		defer transport.CloseIdleConnections()
		c := &http.Client{Transport: transport}
		run(b, func() error {
			resp, err := c.Post(srv.URL+"/v1/tasks", "application/json", bytes.NewReader(body))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	})
	for name, o := range map[string]client.Options{"alone": {NoBatching: true}, "batched": {}} {
		b.Run(name, func(b *testing.B) {
			store := memstore.New(memstore.Config{})
			var requests atomic.Int64
			handler := api.New(api.Config{Log: slog.New(slog.DiscardHandler)}, store)
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { requests.Add(1); handler.ServeHTTP(w, r) }))
			defer srv.Close()
			c, err := client.New(srv.URL, o)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			run(b, func() error { return errOf(c.Tasks.Create(b.Context(), spec)) })
			b.ReportMetric(float64(b.N)/float64(requests.Load()), "creates/request")
		})
	}
}
