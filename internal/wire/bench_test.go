package wire_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/wire"
)

func BenchmarkFormatTime(b *testing.B) {
	at := time.Date(2030, 1, 2, 15, 4, 5, 250e6, time.UTC)
	b.ReportAllocs()
	for b.Loop() {
		_ = wire.FormatTime(at)
	}
}

func BenchmarkEncodeBatchReply(b *testing.B) {
	reply := wire.BatchReply{Results: make([]wire.BatchResult, 1000), Durability: "synced"}
	for i := range reply.Results {
		reply.Results[i] = wire.BatchResult{Status: 201, Name: "order-42-close", ID: "018f3a5e-0000-7000-8000-000000000000", DueAt: "2030-01-02T15:04:05.250Z"}
	}
	var buf bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		if err := wire.Encode(&buf, reply); err != nil {
			b.Fatal(err)
		}
	}
}
