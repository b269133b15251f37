package client

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliot/foliot/internal/fatal"
)

func TestAJSONBodyAndArgumentsAreEncodedByteForByte(t *testing.T) {
	for _, body := range []string{
		`{"a": 1,  "b":[ 1, 2 ]}`,
		"{\n  \"http\": {\"url\": \"x\"}\n}",
		`[12345678901234567890, "<b>&", "\u00e9"]`,
		`true`,
	} {
		spec := Spec{
			Name: "a", Delay: time.Second, Labels: map[string]string{"http": `"http":{"url":`},
			HTTP: HTTP{URL: `http://x/?"http":{"url":"`, Headers: map[string]string{"body": `"body":`}, Body: JSON(json.RawMessage(body))},
		}
		for _, value := range []json.Marshaler{spec, Task{Spec: spec, State: StateScheduled}} {
			in, err := value.MarshalJSON()
			fatal.If(t, err)
			if !strings.Contains(string(in), `"body":`+body+`}`) || !json.Valid(in) {
				t.Errorf("the body %s of a %T is encoded as %s", body, value, in)
			}
		}
		spec.HTTP, spec.Work = HTTP{}, Work{Kind: "close-order", Args: JSON(json.RawMessage(body))}
		schedule := ScheduleSpec{Every: time.Minute, Task: Spec{Work: spec.Work}}
		for _, value := range []json.Marshaler{spec, Task{Spec: spec}, schedule, Schedule{ScheduleSpec: schedule}} {
			in, err := value.MarshalJSON()
			if err != nil || !strings.Contains(string(in), `"work":{"kind":"close-order","args":`+body+`}`) || strings.Contains(string(in), `"http":{`) || !json.Valid(in) {
				t.Errorf("the arguments %s of a %T are encoded as %s, %v", body, value, in, err)
			}
		}
	}
}
