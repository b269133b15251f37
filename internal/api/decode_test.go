package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/api/decode"
	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

func codeOf(err error) string {
	var f *task.FieldError
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// For any input, decoding a task or a patch does not panic and keeps no more
// than it may. A refusal has a code with a status.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"labels":{"a":null},"http":{"body_base64":"eA==","headers":{"x":null}},"retry":{"max_attempts":null}}`))
	f.Add([]byte(`{"delay":"1h","work":{"kind":"close-order","args":{"order":42}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		spec, patched := task.DefaultSpec(), task.DefaultSpec()
		patch := taskFields{spec: &patched, patch: new(task.Patch), plain: new(fieldReader), bodyLimit: 64}
		for _, err := range []error{
			document(data, func(r *reader) error { return r.decodeTask(&spec, noQueue, 64) }),
			document(data, func(r *reader) error { return r.decodePatch(&patch) }),
		} {
			if err == nil {
				continue
			}
			if _, known := statusByCode[codeOf(err)]; !known {
				t.Fatalf("%q: %v has code %q", data, err, codeOf(err))
			}
		}
		if len(spec.Request.Body) > 64 && codeOf(document(data, func(r *reader) error { return r.decodeTask(&spec, noQueue, 64) })) == "" {
			t.Fatalf("took a body of %d bytes", len(spec.Request.Body))
		}
	})
}

// noQueue returns the defaults of a queue without settings.
func noQueue(string) task.Spec { return task.DefaultSpec() }

const sample = `{"name": "order-42-close", "queue": "orders", "delay": "30m",
 "http": {"url": "https://shop.internal/orders/42/close", "method": "POST", "headers": {"x-shop": "7"}, "body": {"order": 42, "items": [{"sku": "a-1", "n": 2}, {"sku": "b-2", "n": 1}]}},
 "timeout": "15s", "priority": "normal", "labels": {"tenant": "acme"}, "retry": {"max_attempts": 5, "min_backoff": "1s"}}`

// A batch has megabytes of bodies, and each may be given in both ways.
func TestABodyInBothFormsNeedsNoMemoryForItsTokens(t *testing.T) {
	for name, body := range map[string]string{
		"numbers": " [" + strings.Repeat("1,", 100<<10) + "1]",
		"objects": " [" + strings.Repeat(`{"a":"b"},`, 20<<10) + "1]",
	} {
		document := []byte(`{"body": ` + body + `, "body_base64": "` + base64.StdEncoding.EncodeToString([]byte(body)) + `"}`)
		allocations := testing.AllocsPerRun(1, func() {
			var b bodyReader
			r := &reader{decode.NewReader(document)}
			err := r.Object(func(key []byte) error { return b.read(r, key, task.MaxBodyDefault) })
			if err != nil || b.body.Kind != task.JSONBody || string(b.body.Bytes) != body {
				t.Fatalf("%s: %v, kind %d", name, err, b.body.Kind)
			}
		})
		if allocations > 100 {
			t.Errorf("%s: %v allocations for %d bytes", name, allocations, len(body))
		}
	}
}

func body(key string, limit int) func(*reader) error {
	return func(r *reader) error { return new(bodyReader).read(r, []byte(key), limit) }
}

func TestABodyOfTheLargestSizeIsAccepted(t *testing.T) {
	const limit = 200_000
	for _, part := range []string{"x", `\u0001`, `\/`, "ä"} {
		var one string
		fatal.If(t, json.Unmarshal([]byte(`"`+part+`"`), &one))
		n := limit / len(one)
		for more, code := range map[int]string{0: "", 1: "body_too_large"} {
			r := &reader{decode.NewReader([]byte(`  "` + strings.Repeat(part, n+more) + `"`))}
			if err := body("body", limit)(r); codeOf(err) != code {
				t.Errorf("%d bytes, written as %s: %v", (n+more)*len(one), part, err)
			}
		}
	}
}

func TestTheReaderStopsAtTheLimitOfABody(t *testing.T) {
	const limit, whole = 10_000, 16 * (64 << 10)
	var object strings.Builder
	for i := 0; object.Len() < whole; i++ {
		fmt.Fprintf(&object, `,"%x":0`, i)
	}
	type value struct {
		key, json string
		far       int
	}
	values := map[string]value{
		"array":  {"body", "[0" + strings.Repeat(",0", whole/2) + "]", limit},
		"object": {"body", "{" + object.String()[1:] + "}", limit},
		"text":   {"body", `["` + strings.Repeat("x", whole) + `"]`, limit},
	}
	for name, part := range map[string]string{"plain": "x", "escaped": `\u0001`, "wide": "ä"} {
		long := `"` + strings.Repeat(part, whole/len(part)) + `"`
		values[name] = value{"body", long, decode.Escaped * limit}
		values[name+" base64"] = value{"body_base64", long, decode.Escaped * 4 * limit / 3}
	}
	for name, v := range values {
		r := &reader{decode.NewReader([]byte(v.json))}
		if err := body(v.key, limit)(r); codeOf(err) != "body_too_large" {
			t.Errorf("%s: %v", name, err)
		}
		if r.Pos() > v.far+2*(64<<10) {
			t.Errorf("%s: it was read up to byte %d of %d", name, r.Pos(), len(v.json))
		}
	}
}
