package task

import "testing"

// BenchmarkCreate measures the work of package task for one create: the
// validation, and the record.
func BenchmarkCreate(b *testing.B) {
	const now Millis = 1_800_000_000_000
	s := DefaultSpec()
	s.Name, s.ID = "order-42-close", NewID(now)
	s.When = When{At: now + 1000}
	s.Request.URL = "https://receiver.example/orders/42"
	s.Request.BodyKind, s.Request.Body = JSONBody, []byte(`{"order":42}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Validate(now); err != nil {
			b.Fatal(err)
		}
		if _, err := (Create{Spec: s}).Apply(now, nil, Facts{}); err != nil {
			b.Fatal(err)
		}
	}
}
