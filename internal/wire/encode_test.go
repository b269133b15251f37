package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire"
)

func TestABodyAndArgumentsAreEncodedByteForByte(t *testing.T) {
	const body = "{ \"a\" : [1,\n\t2.0e0 ],\"b\":\"<&>\" }"
	in := wire.TaskInput{Name: "a", HTTP: wire.HTTPInput{URL: "http://example.com/", Body: json.RawMessage(body)}}
	called := wire.TaskInput{Name: "a", Work: wire.WorkInput{Kind: "close-order", Args: json.RawMessage(body)}}
	for name, v := range map[string]any{
		"task of a kind": &wire.Task{TaskInput: called}, "input of a kind": called,
		"schedule of a kind": wire.Schedule{ScheduleInput: wire.ScheduleInput{Task: wire.ScheduledTask{Work: called.Work}}},
		"task":               &wire.Task{TaskInput: in}, "input": in,
		"map":      map[string]any{"http": map[string]json.RawMessage{"body": json.RawMessage(body)}}, // a patch of the client
		"schedule": wire.Schedule{ScheduleInput: wire.ScheduleInput{Task: wire.ScheduledTask{HTTP: in.HTTP}}},
	} {
		t.Run(name, func(t *testing.T) {
			buf := bytes.NewBufferString("earlier,")
			fatal.If(t, wire.Encode(buf, v))
			got, kept := strings.CutPrefix(buf.String(), "earlier,")
			key := `"body":`
			if strings.Contains(name, "kind") {
				key = `"args":`
			}
			if !kept || !strings.Contains(got, key+body) || !json.Valid([]byte(got)) {
				t.Errorf("encoded as %s", got)
			}
		})
	}
}

// BenchmarkEncodeBatchReply encodes the reply to a batch of 1000 creates.
func BenchmarkEncodeBatchReply(b *testing.B) {
	reply := wire.BatchReply{Results: make([]wire.BatchResult, 1000), Durability: "synced"}
	for i := range reply.Results {
		reply.Results[i] = wire.BatchResult{Status: 201, Name: "order-42-close", ID: "0198c0ffee0198c0ffee0198c0ffee01", DueAt: "2030-01-02T15:04:05.250Z"}
	}
	var buf bytes.Buffer
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		fatal.If(b, wire.Encode(&buf, reply))
	}
}
