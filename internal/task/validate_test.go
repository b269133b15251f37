package task

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestSpecValidation: each row breaks one thing, and the error names it. A row
// without a code is allowed.
func TestSpecValidation(t *testing.T) {
	header := func(name, value string) func(*Spec) {
		return func(s *Spec) { s.Request.Headers = map[string]string{name: value} }
	}
	label := func(key, value string) func(*Spec) {
		return func(s *Spec) { s.Labels = map[string]string{key: value} }
	}
	for _, c := range []struct {
		name string
		edit func(*Spec)
		path string
		code string
	}{
		{"the default with a URL", func(*Spec) {}, "", ""},

		{"no name", func(s *Spec) { s.Name = "" }, "name", "bad_name"},
		{"longest name", func(s *Spec) { s.Name = strings.Repeat("a", 256) }, "", ""},
		{"name too long", func(s *Spec) { s.Name = strings.Repeat("a", 257) }, "name", "bad_name"},
		{"every character", func(s *Spec) { s.Name = "0aZ._:-" }, "", ""},
		{"begins with a dot", func(s *Spec) { s.Name = ".a" }, "name", "bad_name"},
		{"occurrence sign", func(s *Spec) { s.Name = "a@b" }, "name", "bad_name"},
		{"slash", func(s *Spec) { s.Name = "a/b" }, "name", "bad_name"},
		{"space", func(s *Spec) { s.Name = "a b" }, "name", "bad_name"},
		{"zero byte", func(s *Spec) { s.Name = "a\x00" }, "name", "bad_name"},
		{"letter beyond ASCII", func(s *Spec) { s.Name = "é" }, "name", "bad_name"},
		{"no queue", func(s *Spec) { s.Queue = "" }, "queue", "bad_name"},
		{"queue with a slash", func(s *Spec) { s.Queue = "a/b" }, "queue", "bad_name"},
		{"no such priority", func(s *Spec) { s.Priority = Low + 1 }, "priority", "bad_priority"},

		{"delay of nothing", func(s *Spec) { s.When = When{Relative: true} }, "", ""},
		{"longest delay", func(s *Spec) { s.When = When{Relative: true, Delay: MaxDelay} }, "", ""},
		{"delay too long", func(s *Spec) { s.When = When{Relative: true, Delay: MaxDelay + 1} }, "delay", "out_of_range"},
		{"negative delay", func(s *Spec) { s.When = When{Relative: true, Delay: -1} }, "delay", "out_of_range"},
		{"time in the past", func(s *Spec) { s.When = When{At: 1} }, "", ""},
		{"latest time", func(s *Spec) { s.When = When{At: latest(t0)} }, "", ""},
		{"time too late", func(s *Spec) { s.When = When{At: latest(t0) + 1} }, "at", "out_of_range"},
		{"time before 1970", func(s *Spec) { s.When = When{At: -1} }, "at", "out_of_range"},

		{"no method", func(s *Spec) { s.Request.Method = "" }, "http.method", "bad_method"},
		{"small letters", func(s *Spec) { s.Request.Method = "post" }, "http.method", "bad_method"},
		{"CONNECT", func(s *Spec) { s.Request.Method = "CONNECT" }, "http.method", "bad_method"},
		{"TRACE", func(s *Spec) { s.Request.Method = "TRACE" }, "http.method", "bad_method"},
		{"DELETE", func(s *Spec) { s.Request.Method = "DELETE" }, "", ""},

		{"header", header("X-Shop", "7\tü"), "", ""},
		{"authorization", header("Authorization", "Bearer x"), "", ""},
		{"every header character", header("!#$%&'*+-.^_`|~a1", ""), "", ""},
		{"no header name", header("", "x"), "http.headers.", "bad_header"},
		{"header with a space", header("X Y", "x"), "http.headers.X Y", "bad_header"},
		{"header with a colon", header("X:", "x"), "http.headers.X:", "bad_header"},
		{"header beyond ASCII", header("é", "x"), "http.headers.é", "bad_header"},
		{"line break in a header", header("X", "a\r\nHost: b"), "http.headers.X", "bad_header"},
		{"zero byte in a header", header("X", "\x00"), "http.headers.X", "bad_header"},
		{"delete in a header", header("X", "\x7f"), "http.headers.X", "bad_header"},
		{"headers at their limit", header("X", strings.Repeat("x", MaxHeaderBytes-1)), "", ""},
		{"headers too large", header("X", strings.Repeat("x", MaxHeaderBytes)), "http.headers", "too_large"},

		{"label", label("tenant/x", "acme=1"), "", ""},
		{"empty label value", label("k", ""), "", ""},
		{"no label key", label("", "v"), "labels.", "bad_label"},
		{"equals sign in a label key", label("a=b", "v"), "labels.a=b", "bad_label"},
		{"control character in a label key", label("a\n", "v"), "labels.a\n", "bad_label"},
		{"longest label", label(strings.Repeat("k", 128), strings.Repeat("v", 256)), "", ""},
		{"label key too long", label(strings.Repeat("k", 129), ""), "labels." + strings.Repeat("k", 129), "bad_label"},
		{"label value too long", label("k", strings.Repeat("v", 257)), "labels.k", "bad_label"},
		{"label value that is no text", label("k", "\xff"), "labels.k", "bad_label"},
		{"most labels", func(s *Spec) { s.Labels = manyLabels(64) }, "", ""},
		{"too many labels", func(s *Spec) { s.Labels = manyLabels(65) }, "labels", "too_many"},

		{"shortest timeout", func(s *Spec) { s.Timeout = time.Millisecond }, "", ""},
		{"no timeout", func(s *Spec) { s.Timeout = 0 }, "timeout", "out_of_range"},
		{"timeout too long", func(s *Spec) { s.Timeout = time.Hour + 1 }, "timeout", "out_of_range"},
		{"negative expiry", func(s *Spec) { s.ExpireAfter = -1 }, "expire_after", "out_of_range"},
		{"expiry too long", func(s *Spec) { s.ExpireAfter = MaxDuration + 1 }, "expire_after", "out_of_range"},

		{"most attempts", func(s *Spec) { s.Retry.MaxAttempts = MaxAttemptsLimit }, "", ""},
		{"negative attempts", func(s *Spec) { s.Retry.MaxAttempts = -1 }, "retry.max_attempts", "out_of_range"},
		{"too many attempts", func(s *Spec) { s.Retry.MaxAttempts = MaxAttemptsLimit + 1 }, "retry.max_attempts", "out_of_range"},
		{"no backoff", func(s *Spec) { s.Retry.MinBackoff = 0 }, "retry.min_backoff", "out_of_range"},
		{"constant backoff", func(s *Spec) { s.Retry.MaxBackoff = s.Retry.MinBackoff }, "", ""},
		{"backoffs the wrong way round", func(s *Spec) { s.Retry.MaxBackoff = s.Retry.MinBackoff - 1 }, "retry.max_backoff", "out_of_range"},
		{"backoff too long", func(s *Spec) { s.Retry.MaxBackoff = MaxDuration + 1 }, "retry.max_backoff", "out_of_range"},
		{"no age", func(s *Spec) { s.Retry.MaxAge = 0 }, "", ""},
		{"negative age", func(s *Spec) { s.Retry.MaxAge = -1 }, "retry.max_age", "out_of_range"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := validSpec()
			c.edit(&s)
			if err := wantField(s.Validate(t0), c.path, c.code); err != nil {
				t.Error(err)
			}
		})
	}
}

func manyLabels(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "v"
	}
	return m
}

// wantField checks that err is the *FieldError of a path and code, or nil if
// code is empty.
func wantField(err error, path, code string) error {
	if code == "" {
		if err != nil {
			return fmt.Errorf("refused: %w", err)
		}
		return nil
	}
	field, ok := errors.AsType[*FieldError](err)
	if !ok || field.Path != path || field.Code != code || field.Detail == "" {
		return fmt.Errorf("error %w, want path %q and code %q", err, path, code)
	}
	return nil
}

func TestForbiddenHeadersInAnySpelling(t *testing.T) {
	for _, name := range []string{
		"Host", "TE", "Content-Length", "Connection", "Transfer-Encoding", "Expect", "Upgrade", "Trailer", "Keep-Alive",
		"Proxy", "Proxy-Authorization", "Proxy-Connection", "Foliot-Task", "Foliot-", "Webhook-Id", "webhook-signature",
	} {
		spellings := []string{name, strings.ToLower(name), strings.ToUpper(name)}
		for _, c := range "_.!#$%&'*+^`|~" { // servers turn all of these into - or _, or into the same variable
			spellings = append(spellings, strings.ReplaceAll(name, "-", string(c)))
		}
		for _, spelling := range spellings {
			s := validSpec()
			s.Request.Headers = map[string]string{spelling: "x"}
			if err := wantField(s.Validate(t0), "http.headers."+spelling, "forbidden_header"); err != nil {
				t.Errorf("%s: %v", spelling, err)
			}
		}
	}
	for _, name := range []string{"Content-Type", "User-Agent", "Cookie", "X-Host", "Foliot", "Webhook", "Accept-Encoding", "X-Proxy", "Proxyx", "Webhooks_id"} {
		if ForbiddenHeader(name) {
			t.Errorf("%s is forbidden", name)
		}
	}
}

func TestDuplicateHeadersAreRefusedIgnoringCase(t *testing.T) {
	s := validSpec()
	s.Request.Headers = map[string]string{"X-Shop": "1", "x-shop": "2"}
	if field, ok := errors.AsType[*FieldError](s.Validate(t0)); !ok || field.Code != "duplicate_key" {
		t.Errorf("create: %v", field)
	}
	p := Patch{Headers: map[string]*string{"X-Shop": ptr("1"), "x-shop": nil}}
	if field, ok := errors.AsType[*FieldError](p.Validate(t0)); !ok || field.Code != "duplicate_key" {
		t.Errorf("patch: %v", field)
	}
}

func TestPatchValidatesItsDueTime(t *testing.T) {
	for when, path := range map[When]string{
		{Relative: true, Delay: -1}:           "delay",
		{Relative: true, Delay: MaxDelay + 1}: "delay",
		{At: latest(t0) + 1}:                  "at",
	} {
		if err := wantField((&Patch{When: &when}).Validate(t0), path, "out_of_range"); err != nil {
			t.Error(err)
		}
	}
	if err := (&Patch{When: &When{At: 1}}).Validate(t0); err != nil {
		t.Errorf("a past time: %v", err)
	}
}

func TestURLs(t *testing.T) {
	// Each receiver has one destination, in every spelling of its URL.
	for want, urls := range map[string][]string{ // the destination, or ! and the code
		"a:80":             {"http://a", "HTTP://a"},
		"a.example:443":    {"https://A.Example/x?y=z#f"},
		"a:1":              {"http://a:1"},
		"a:65535":          {"http://a:65535"},
		"127.0.0.1:8080":   {"http://127.0.0.1:8080/"},
		"[::1]:8080":       {"http://[::1]:8080/"},
		"[2001:db8::1]:80": {"http://[2001:DB8::1]/", "http://[2001:0DB8:0:0::0001]"},
		"a_b.c-d:80":       {"http://a_b.c-d"},
		"a.example:80":     {"http://a.example.", "http://A.EXAMPLE.:080/"},
		"a:443":            {"https://a:0443"},
		"a..:80":           {"http://a.."},
		"xn--bcher-kva.example:80": {
			"http://bücher.example", "http://BÜCHER.example", "http://b%C3%BCcher.example", "http://xn--bcher-kva.example",
			"http://XN--BCHER-KVA.example",
		},
		"example.com:80": {"http://ｅｘａｍｐｌｅ.com", "http://example。com", "http://exam\u00adple.com"},
		"93.184.216.34:80": {
			"http://[::ffff:93.184.216.34]", "http://[::FFFF:5DB8:d822]:80", "http://[0:0:0:0:0:ffff:5db8:d822]", "http://93.184.216.34.",
			"http://０x5d.184.216.34", "http://0x5d.0xb8.55330", "http://1572395042", "http://0135.0270.0330.042", "http://0x5DB8D822",
			"http://００135.184.216.34",
		},
		"4294967296:80": {"http://4294967296"},
		"256.1.1.1:80":  {"http://256.1.1.1"},
		"1.2.3.4.5:80":  {"http://1.2.3.4.5"},
		"0x.1:80":       {"http://0x.1"},
		"08.1:80":       {"http://08.1"},
		"1..2:80":       {"http://1..2"},
		"-1.2:80":       {"http://-1.2"},
		"!bad_url": {
			"http://" + strings.Repeat("a", 254),
			"http://a/%20%zz", "http:", "http:a", "http://", "http://:80", "http://a:", "http://a:0", "http://a:65536", "http://a:x", "http://u@a",
			"http://u:p@a", "http://a b", "http://a/b c", "http://a\x00", "http://a/\n", "http://a/\xff", "http://[::1", "http://[fe80::1%25eth0]/",
			"http://[fe80::1%25a%00%2f]/", "http://a%00b/", "http://a%2fb/",
		},
		"!required":                      {""},
		"!bad_scheme":                    {"a", "/a", "//a", "ftp://a", "javascript:alert(1)"},
		strings.Repeat("a", 253) + ":80": {"http://" + strings.Repeat("a", 253)},
		"!too_long":                      {"http://a/" + strings.Repeat("x", 8<<10)},
	} {
		for _, raw := range urls {
			s := validSpec()
			s.Request.URL = raw
			err := s.Validate(t0)
			if code, bad := strings.CutPrefix(want, "!"); bad {
				if e := wantField(err, "http.url", code); e != nil {
					t.Errorf("%.60q: %v", raw, e)
				}
			} else if err != nil || s.Request.Destination != want {
				t.Errorf("%.60q: destination %q, error %v; want %q", raw, s.Request.Destination, err, want)
			}
		}
	}
}

func TestATaskIsARequestOrWorkForAHandler(t *testing.T) {
	args := Request{Kind: "order.close", BodyKind: JSONBody, Body: []byte(`{"order":42}`)}
	for name, c := range map[string]struct {
		edit func(*Request)
		path string // "": valid
	}{
		"arguments":         {func(*Request) {}, ""},
		"no arguments":      {func(r *Request) { r.BodyKind, r.Body = NoBody, nil }, ""},
		"a text":            {func(r *Request) { r.BodyKind = TextBody }, "work.args"},
		"bytes":             {func(r *Request) { r.BodyKind = BinaryBody }, "work.args"},
		"a URL":             {func(r *Request) { r.URL = "https://receiver.example/" }, "http"},
		"a method":          {func(r *Request) { r.Method = "GET" }, "http"},
		"headers":           {func(r *Request) { r.Headers = map[string]string{"x-a": "b"} }, "http"},
		"a kind with slash": {func(r *Request) { r.Kind = "order/close" }, "work.kind"},
		"a long kind":       {func(r *Request) { r.Kind = strings.Repeat("k", MaxKindLen+1) }, "work.kind"},
	} {
		s := DefaultSpec()
		s.Name, s.ID, s.When, s.Request = "a", "id", When{Relative: true}, args
		c.edit(&s.Request)
		err := s.Validate(1)
		var field *FieldError
		if ok := errors.As(err, &field); ok && field.Path != c.path || !ok && (err != nil || c.path != "") {
			t.Errorf("%s: %v, want an error of %q", name, err, c.path)
		}
		if err == nil && (s.Request.Destination != "kind/order.close" || KindOf(s.Request.Destination) != "order.close") {
			t.Errorf("%s: the destination is %q", name, s.Request.Destination)
		}
	}
	if kind := KindOf("kind.example:443"); kind != "" {
		t.Errorf("a host is the kind %q", kind)
	}
}
