package decode

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/foliot/foliot/internal/task"
)

func codeOf(err error) string {
	var f *task.FieldError
	if errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// A document that the reader accepts is JSON. JSON that it refuses has one of
// the errors that encoding/json does not have.
func FuzzReaderAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e+3,"\u00e4\ud83d\ude00",true,false,null,{}]}`, `[]`, ` "x" `, `01`, `-`, `1.`, `1e`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `"\ud800"`,
		"\"\xff\"", `{"a":1,"\u0061":2}`, strings.Repeat("[", 40) + strings.Repeat("]", 40), `nul`, `"\x"`, "\"\x01\"", `{"a":{"b":[{"c":1}]}} x`, ``, "\ufeff1",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var raw []byte
		err := Document(data, func(r *Reader) (err error) {
			raw, err = r.Raw(len(r.data))
			return err
		})
		valid := json.Valid(data)
		if err == nil {
			if !valid {
				t.Fatalf("took %q, which is no JSON", data)
			}
			if !bytes.Equal(raw, bytes.TrimSpace(data)) {
				t.Fatalf("kept %q of %q", raw, data)
			}
			return
		}
		switch code := codeOf(err); code {
		case "duplicate_key", "too_deep", "bad_utf8":
		case "bad_json", "trailing_data", "empty_body":
			if valid {
				t.Fatalf("%q is JSON: %v", data, err)
			}
		default:
			t.Fatalf("%q: code %q: %v", data, code, err)
		}
	})
}

// In lenient mode the reader ends where encoding/json ends: a refused item of a
// batch hides no other item.
func FuzzLenientReaderFindsTheEnd(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}x`, "[\"\xff\", {\"\\ud800\":1}] 2", strings.Repeat("[", 40) + strings.Repeat("]", 40) + `[`, `{"a":"}"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		data = slices.Concat([]byte("["), data, []byte(",0]"))
		r := Reader{data: data, lenient: true}
		err := r.skip()
		if taken := err == nil && r.pos == len(data); taken != json.Valid(data) && codeOf(err) != "too_deep" {
			t.Fatalf("%q: %v, read up to %d", data, err, r.pos)
		}
	})
}

func FuzzStringsAgreeWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{`"\u00e4\ud83d\ude00\"\\\/\b\f\n\r\t"`, `"\ud800\ud800"`, `"\udc00"`, `"\ud83dx"`, "\"\u00e4\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := Reader{data: data}
		got, err := r.Text()
		if err != nil {
			return
		}
		if !utf8.ValidString(got) {
			t.Fatalf("%q became %q", data, got)
		}
		var want string
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&want); err != nil && !errors.Is(err, io.EOF) {
			t.Fatalf("took %q, encoding/json says %v", data, err)
		}
		if got != want {
			t.Fatalf("%q became %q, want %q", data, got, want)
		}
	})
}

// JSON Schema calls each number without a fractional part an integer, however it
// is written.
func TestAnIntegerIsAnyNumberWithoutAFraction(t *testing.T) {
	for text, want := range map[string]string{
		"3.0": "3", "3e0": "3", "30E-1": "3", "0.3e+1": "3", "-3.00": "-3", "1.5e1": "15", "-0.0": "0", "0e999999999999999999999": "0",
		"9007199254740993.0": "9007199254740993", "120000e-4": "12", "0.0000000000000000000000000000000000000001e40": "1",
		"3.5": "wrong_type", "0.99999999999999999999": "wrong_type", "1e-999999999999999999999": "wrong_type", "15e-1": "wrong_type",
		"1e19": "out_of_range", "1e999999999999999999999": "out_of_range", "123456789012345678901": "out_of_range",
	} {
		n, err := NewReader([]byte(text)).Integer()
		if got := cmp.Or(codeOf(err), strconv.Itoa(n)); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
}
