package tracing

import (
	"maps"
	"net/url"
	"strings"
	"testing"
)

func TestHeadersAreReadAsOpenTelemetryWritesThem(t *testing.T) {
	for _, c := range []struct {
		list string
		want map[string]string // nil means that it is refused
	}{
		{"", map[string]string{}},
		{"api-key=secret1", map[string]string{"api-key": "secret1"}},
		{" a = 1 , b=two%20words%2C,", map[string]string{"a": "1", "b": "two words,"}},
		{"Authorization=Basic%20c2VjcmV0==", map[string]string{"Authorization": "Basic c2VjcmV0=="}},
		{"a=1,secret", nil},
		{"=secret", nil},
		{"a b=secret", nil},
		{"a=secret%zz", nil},
		{"a=secret%0d%0aX: y", nil},
	} {
		got, err := parseHeaders(c.list)
		if (err != nil) != (c.want == nil) || err == nil && !maps.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.list, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error contains the secret: %v", err)
		}
	}
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("api-key=secret1")
	f.Add(" a = 1 , b=two%20words%2C,")
	f.Add("a=%0a")
	f.Fuzz(func(t *testing.T, list string) {
		headers, err := parseHeaders(list)
		if err != nil {
			return
		}
		var items []string
		for name, value := range headers {
			items = append(items, name+"="+strings.ReplaceAll(url.PathEscape(value), ",", "%2C"))
		}
		again, err := parseHeaders(strings.Join(items, ","))
		if err != nil || !maps.Equal(again, headers) {
			t.Errorf("%q is %v, and written again %v, %v", list, headers, again, err)
		}
	})
}
