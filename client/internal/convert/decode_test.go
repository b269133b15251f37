package convert_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/client/internal/convert"
	"github.com/foliot/foliot/internal/wire"
)

// Whatever encoding/json reads or refuses, Unmarshal does the same.
func FuzzUnmarshalIsThatOfEncodingJSON(f *testing.F) {
	const task = `{"name":"a","queue":"default","delay":"1h","http":{"url":"http://x/?a=1&b=<2>","method":"POST","headers":{"X-A":"1","X-B":"\u00e4"}},` +
		`"timeout":"15s","priority":"normal","labels":{},"retry":{"max_attempts":0,"min_backoff":"1s"},"id":"0197","state":"scheduled",` +
		`"due_at":"2030-01-01T00:00:00.000Z","version":18446744073709551615,"created_at":"2030-01-01T00:00:00.000Z","under_way":true,"body_size":12,` +
		`"attempts":[{"number":1,"started_at":"","status":200,"latency_ms":0.25,"late_ms":12,"waited_ms":-1e3},{"number":2,"started_at":"ä","status":0,"latency_ms":1,"late_ms":0,"waited_ms":0}]}`
	for _, seed := range []string{
		task, `{"results":[{"status":201,"task":` + task + `},{"status":409,"code":"exists","allowed":["a","b"],"limit":1.5,"retry_after":3}],"durability":"synced"}` + "\n",
		`{}`, `{"results":[]}`, `{"results":[{}],"durability":"synced",}`, `{"results":[{},]}`, `{"results":null}`, ` {"name" : "a"} `, `{"Name":"a"}`, `{"name":"a","name":"b"}`,
		`{"version":01}`, `{"version":+1}`, `{"version":1.0}`, `{"version":-1}`, `{"status":9223372036854775808}`, `{"body_size":1_0}`, `{"name":"a\"}`, "{\"name\":\"a\n\"}", `{"name":"\ud800"}`, "{\"name\":\"\xff\"}",
		`{"http":{"url":"","body":{"a": 1}},"id":"1"}`, `{"labels":{"a":"b","a":"c"}}`, `{"labels":{"a":1}}`, `{"under_way":tru}`, `{"id":"1"}x`, `{"id":"1"`, `[`, ``, `null`, `{"new":[1],"id":"2"}`, `{"id":"2","name":"a"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		same[wire.Task](t, data)
		same[wire.BatchReply](t, data)
	})
}

func same[W any](t *testing.T, data []byte) {
	var got, want W
	err, wantErr := convert.Unmarshal(data, &got), json.Unmarshal(data, &want)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: %v, want %v", data, err, wantErr)
	}
	if diff := cmp.Diff(want, got); err == nil && diff != "" {
		t.Errorf("%s (-want +got):\n%s", data, diff)
	}
}
