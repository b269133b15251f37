package task

import (
	"cmp"
	"net/url"
	"strings"
	"testing"
)

// FuzzURL: no URL makes a panic, and an accepted one has a destination that is
// safe in a key, in a metric and in a dialer.
func FuzzURL(f *testing.F) {
	for _, seed := range []string{"http://a", "https://[::1]:8080/x", "http://[fe80::1%25a%00%2f]/", "http://u:p@a:0", "//", "http://%41:80", "http://０x7f.1.:080", "http://b\u00fccher.example.", "http://[::ffff:1.2.3.4]", "http://017700000001", "http://h/\u00fc%2Fa?b=\u00f6%&c=%zz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseURL("http.url", raw)
		if err != nil {
			return
		}
		d := destination(u)
		if !PlainText(d) || strings.ContainsAny(d, "/\\ %@?#") || d != strings.ToLower(d) {
			t.Errorf("%q has the destination %q", raw, d)
		}
		sent, err := url.Parse("http://h" + RequestURI(u))
		if err != nil || strings.ContainsFunc(RequestURI(u), func(r rune) bool { return r <= ' ' || r > '~' }) || sent.Path != cmp.Or(u.Path, "/") {
			t.Errorf("%q is sent as %q", raw, RequestURI(u))
		}
		if again, err := url.Parse("http://" + d); err != nil || destination(again) != d {
			t.Errorf("%q has the destination %q, and that has another one", raw, d)
		}
		for _, other := range []string{strings.ToUpper(u.Host), u.Hostname() + ".:" + portOf(u)} {
			v := *u
			if v.Host = other; !isASCII(u.Host) || strings.HasSuffix(u.Hostname(), ".") || strings.Contains(u.Host, "[") {
				continue
			}
			if spelled := destination(&v); spelled != d {
				t.Errorf("%q has the destination %q, and %q has %q", u.Host, d, v.Host, spelled)
			}
		}
	})
}

// FuzzMergeMap: for any two maps, an edit replaces every key it equals, and the
// other keys stay.
func FuzzMergeMap(f *testing.F) {
	f.Add("A=1\nb=2", "a=3\nB\nc=4")
	f.Add("", "x")
	f.Add("ſ=1\nK=2", "S=1\nk=2") // letters with unexpected case folding
	f.Fuzz(func(t *testing.T, have, edit string) {
		m, edits := pairs(have), map[string]*string{}
		for k, v := range pairs(edit) {
			edits[k] = nil
			if v != "" {
				edits[k] = &v
			}
		}
		if len(edits) != len(foldedKeys(edits)) {
			return // Patch.Validate refuses it
		}
		before := pairs(have)
		got := mergeMap(m, edits, equalFold)
		for k, v := range edits {
			if v == nil {
				for g := range got {
					if equalFold(g, k) {
						t.Errorf("%q was removed and %q is there", k, g)
					}
				}
			} else if got[k] != *v {
				t.Errorf("%q was set to %q and is %q", k, *v, got[k])
			}
		}
		for k, v := range before {
			if g, kept := got[k]; !touched(edits, k) && (!kept || g != v) {
				t.Errorf("%q was not named and became %q", k, g)
			}
		}
	})
}

func pairs(s string) map[string]string {
	m := map[string]string{}
	for line := range strings.SplitSeq(s, "\n") {
		if k, v, _ := strings.Cut(line, "="); line != "" {
			m[k] = v
		}
	}
	return m
}

func foldedKeys(edits map[string]*string) []string {
	var keys []string
	for k := range edits {
		if !containsFold(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

func containsFold(keys []string, k string) bool {
	for _, other := range keys {
		if equalFold(other, k) {
			return true
		}
	}
	return false
}

func touched(edits map[string]*string, k string) bool {
	for e := range edits {
		if equalFold(e, k) {
			return true
		}
	}
	return false
}

// FuzzOccurrenceOf: OccurrenceOf accepts only names that an occurrence of its
// schedule can have, and recognises each of them.
func FuzzOccurrenceOf(f *testing.F) {
	f.Add("nightly@1732309200000", int64(1_732_309_200_000))
	f.Add("nightly@1732309200000.t3f", int64(0))
	f.Add("a@dead.id-1.3", int64(-1))
	f.Add("@nightly", int64(1)<<62)
	f.Add("a@1@dead.id-1.3", int64(9))
	f.Add("a@007.", int64(10))
	f.Fuzz(func(t *testing.T, name string, at int64) {
		if schedule, instant, ok := OccurrenceOf(name); ok {
			_, made, _ := strings.Cut(name, "@")
			made, kind, _ := strings.Cut(made, ".")
			if kind == "" || kind[0] != 't' {
				made = strings.TrimPrefix(OccurrenceName("", instant), "@")
			} else if instant != 0 {
				t.Errorf("%q has the instant %d", name, instant)
			}
			if rest, found := strings.CutPrefix(name, schedule+"@"+made); schedule == "" || !found || rest != "" && rest != "."+kind {
				t.Errorf("%q is taken for %q at %d", name, schedule, instant)
			}
		}
		if at < 0 || ValidateName("name", name) != nil {
			return
		}
		for kind, want := range map[string]Millis{"": Millis(at), ".t3f": 0, ".b01234567": Millis(at)} {
			if schedule, instant, ok := OccurrenceOf(OccurrenceName(name, Millis(at)) + kind); !ok || schedule != name || instant != want {
				t.Errorf("%q at %d is taken for %q at %d, %v", name, at, schedule, instant, ok)
			}
		}
	})
}

// FuzzHeaderName: a task can set no header that a receiver with CGI variables
// reads as one that Foliot or the connection sets.
func FuzzHeaderName(f *testing.F) {
	for _, seed := range []string{"X-Shop", "webhook_id", "foliot.task", "Proxy", "proxy~x", "content!length", "Host", "-host", "h\u00f6st"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if validateHeaders(map[string]string{name: "x"}) != nil {
			return
		}
		variable := strings.Map(func(r rune) rune {
			if r < 0x80 && alphanumeric(byte(r)) {
				return r
			}
			return '_'
		}, strings.ToUpper(name))
		for _, reserved := range []string{"HOST", "PROXY", "CONTENT_LENGTH", "CONNECTION", "TRANSFER_ENCODING", "TE", "UPGRADE", "EXPECT", "TRAILER", "KEEP_ALIVE"} {
			if variable == reserved {
				t.Errorf("%q is taken for %s", name, reserved)
			}
		}
		for _, prefix := range []string{"FOLIOT_", "WEBHOOK_", "PROXY_"} {
			if strings.HasPrefix(variable, prefix) {
				t.Errorf("%q is taken for one of %s*", name, prefix)
			}
		}
	})
}
