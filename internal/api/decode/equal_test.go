package decode

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestTheSameJSONHasTheSameTokens(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, " 1\n", true},
		{`{"a": [1, "x"]}`, `{"a":[1,"x"]}`, true},
		{`"\u00e9\n"`, "\"é\\u000a\"", true},
		{`{"\u0061": 1}`, `{"a": 1}`, true},
		{`1.50`, `1.5`, false},
		{`[1, 2]`, `[12]`, false},
		{`[1]`, `[1, 2]`, false},
		{`[1]`, `1`, false},
		{`1`, `1 2`, false},
		{`12`, `1 2`, false},
		{`1`, ``, false},
		{`1`, `1]`, false},
		{`"a"`, "\"a", false},
		{`"a"`, "\"a\"\x00", false},
		{`null`, `nullx`, false},
		{`"\ufffd"`, "\"\xff\"", false},
		{`"a b"`, `"ab"`, false},
		{`{"a": 1, "b": 2}`, `{"b": 2, "a": 1}`, false},
	} {
		if got := Equal([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
}

// FuzzTheSameJSONHasTheSameTokens compares with the tokens of encoding/json.
func FuzzTheSameJSONHasTheSameTokens(f *testing.F) {
	for _, seed := range []string{`{"a": [1, "x\u00e9"], "b": null}`, `"\ud83d\ude00"`, ` [true, -1.5e3]`} {
		f.Add(seed, seed)
		f.Add(seed, seed+" ")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x := &Reader{data: []byte(a)}
		if len(a) == 0 || x.skip() != nil || x.Next() != 0 || x.pos < len(a) {
			t.Skip()
		}
		if Equal([]byte(a), []byte(b)) && !sameTokens(a, b) {
			t.Errorf("%q and %q are the same", a, b)
		}
	})
}

func sameTokens(a, b string) bool {
	x, y := json.NewDecoder(strings.NewReader(a)), json.NewDecoder(strings.NewReader(b))
	x.UseNumber()
	y.UseNumber()
	for {
		s, errX := x.Token()
		t, errY := y.Token()
		if errX != nil || errY != nil {
			return errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF) && json.Valid([]byte(b))
		}
		if s != t {
			return false
		}
	}
}
