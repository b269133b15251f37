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
	// Names and texts that look like the placeholder.
	tricks := map[string]string{"body": "0", `"body":0`: `"body":0`, "args": "0", `"args":0`: `"args":0`}
	in := wire.TaskInput{Name: "a", Labels: tricks, HTTP: wire.HTTPInput{URL: "http://example.com/", Headers: tricks, Body: json.RawMessage(body)}}
	scheduled := wire.ScheduleInput{ScheduleRule: wire.ScheduleRule{Every: "1m0s"}, Task: wire.ScheduledTask{HTTP: in.HTTP, Labels: tricks}}
	called := wire.TaskInput{Name: "a", Labels: tricks, Work: wire.WorkInput{Kind: "close-order", Args: json.RawMessage(body)}}
	calling := wire.ScheduleInput{ScheduleRule: scheduled.ScheduleRule, Task: wire.ScheduledTask{Work: called.Work, Labels: tricks}}
	for name, v := range map[string]any{
		"task of a kind": &wire.Task{TaskInput: called, Reason: `"args":0`}, "input of a kind": called,
		"schedule of a kind": wire.Schedule{ScheduleInput: calling}, "schedule input of a kind": calling,
		"task": &wire.Task{TaskInput: in, Reason: `"body":0`}, "input": in,
		"schedule": wire.Schedule{ScheduleInput: scheduled}, "schedule input": scheduled,
	} {
		t.Run(name, func(t *testing.T) {
			buf := bytes.NewBufferString(`"body":0,`) // earlier bytes do not change
			fatal.If(t, wire.Encode(buf, v))
			got, _ := strings.CutPrefix(buf.String(), `"body":0,`)
			key := `"body":`
			if strings.Contains(name, "kind") {
				key = `"args":`
			}
			if !strings.Contains(got, key+body) || !json.Valid([]byte(got)) {
				t.Errorf("encoded as %s", got)
			}
			plain, err := json.Marshal(v)
			fatal.If(t, err)
			var compact bytes.Buffer
			fatal.If(t, json.Compact(&compact, []byte(got)))
			var a, b any
			if json.Unmarshal(plain, &a) != nil || json.Unmarshal(compact.Bytes(), &b) != nil || !equal(t, a, b) {
				t.Errorf("encoding/json has\n%s\nwe have\n%s", plain, compact.Bytes())
			}
		})
	}
}

func equal(t *testing.T, a, b any) bool {
	t.Helper()
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
