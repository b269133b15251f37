package cli

import (
	"encoding/json"
	"testing"
)

func TestBenchMeasuresAServer(t *testing.T) {
	t.Parallel()
	p := serveHere(t, "--listen", anyPort, "--store", "memory:")
	var got struct {
		Tasks, Arrived, Lost, Early, Duplicates int

		CreatesPerS float64 `json:"creates_per_second"`
		LateMaxMS   float64 `json:"late_max_ms"`
	}
	if err := json.Unmarshal([]byte(p.must("bench", "--tasks", "200", "--over", "200ms", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if got.Tasks != 200 || got.Arrived != 200 || got.Lost+got.Early+got.Duplicates != 0 || got.LateMaxMS <= 0 || got.CreatesPerS <= 0 {
		t.Errorf("%+v", got)
	}
	if left := p.must("ls", "--queue", "foliot-bench", "--state", "scheduled"); left != "" {
		t.Errorf("it left behind: %s", left)
	}
}
