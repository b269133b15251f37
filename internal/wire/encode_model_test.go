package wire_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/wire"
)

// encoding/json is the model. It sees each field of each type.
func TestRepliesAreEncodedAsEncodingJSONDoes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 1000 {
		for _, v := range []any{
			new(wire.Task), new(wire.TaskInput), new(wire.BatchReply), new(wire.Schedule), new(wire.RulePreview), new(wire.Queue), new(wire.Namespace),
			new(wire.Token), new(wire.Identity), new(wire.Live), new(wire.History), new(wire.AttemptList), new(wire.Upcoming), new(wire.Cluster), new(wire.Problem),
		} {
			fill(random, reflect.ValueOf(v).Elem(), i == 0)
			for _, v := range []any{v, reflect.ValueOf(v).Elem().Interface()} {
				var got, want bytes.Buffer
				enc := json.NewEncoder(&want)
				enc.SetEscapeHTML(false)
				fatal.If(t, enc.Encode(v))
				fatal.If(t, wire.Encode(&got, v))
				if got.WriteByte('\n'); got.String() != want.String() {
					t.Fatalf("encoded as\n%s, encoding/json has\n%s", &got, &want)
				}
			}
		}
	}
}

// texts have all kinds of characters that JSON must escape, or HTML.
var texts = []string{"a", "order-42", "\"", "\\", "a\nb\t\x00", "<&>", "\u2028\u2029", "ä€𝄞", "\xff", "", "\x7f"}

// fill sets all fields of v, or some of them.
func fill(random *rand.Rand, v reflect.Value, whole bool) {
	if !whole && random.IntN(3) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(random, v.Field(i), whole)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(random, v.Elem(), whole)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte([]string{`1`, `"a"`, `{"a":[1,2]}`}[random.IntN(3)]))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), random.IntN(3), 3))
		for i := range v.Len() {
			fill(random, v.Index(i), whole)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range random.IntN(3) {
			v.SetMapIndex(reflect.ValueOf(texts[random.IntN(len(texts))]), reflect.ValueOf(texts[random.IntN(len(texts))]))
		}
	case reflect.String:
		v.SetString(texts[random.IntN(len(texts))])
		if whole {
			v.SetString("x")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(random.Int64N(1_000_000) - 1000)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(random.Uint64N(1 << 32))
	case reflect.Float64:
		v.SetFloat(float64(random.IntN(1_000_000)) / 1000)
	default:
		panic(v.Kind())
	}
}
