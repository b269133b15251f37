// Package heartbeat measures ways to end connections without heartbeats.
package heartbeat

import (
	"runtime"
	"testing"
	"time"

	"github.com/foliot/foliot/bench/heartbeat/contender"
	"github.com/foliot/foliot/bench/metric"
)

// BenchmarkHeartbeats lets 100,000 connections send a heartbeat every 30 s.
func BenchmarkHeartbeats(b *testing.B) {
	for i := range contender.All {
		info := &contender.All[i]
		b.Run(info.Name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // an event loop
			v, err := info.Heartbeats(metric.Either(100_000, 1000), metric.Either(time.Minute, time.Second))
			metric.Report(b, v, err)
		})
	}
}

func BenchmarkCall(b *testing.B) {
	for i := range contender.All {
		info := &contender.All[i]
		b.Run(info.Name, func(b *testing.B) {
			if err := info.Call(b, 100_000); err != nil {
				b.Fatal(err)
			}
		})
	}
}
