package redisurl

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestARedisURLSaysWhichServersAndHow(t *testing.T) {
	type params = map[string]string
	for text, want := range map[string]URL{
		"redis://localhost":                        {Addrs: []string{"localhost:6379"}},
		"REDIS://localhost/":                       {Addrs: []string{"localhost:6379"}},
		"redis://127.0.0.1:7000/2":                 {Addrs: []string{"127.0.0.1:7000"}, db: 2},
		"redis://127.0.0.1:7000?db=2":              {Addrs: []string{"127.0.0.1:7000"}, db: 2, given: params{"db": "2"}},
		"redis://:p%40ss%2F%3A+@a.example":         {Addrs: []string{"a.example:6379"}, password: "p@ss/:+"},
		"redis://foliot:secret@[::1]:6380":         {Addrs: []string{"[::1]:6380"}, user: "foliot", password: "secret"},
		"rediss://[2001:db8::1]?server-name=redis": {Addrs: []string{"[2001:db8::1]:6379"}, tls: true, given: params{"server-name": "redis"}},
		"rediss://a?ca=/etc/ca.pem&cert=a%20b.pem&key=k%26.pem": {
			Addrs: []string{"a:6379"}, tls: true, given: params{"ca": "/etc/ca.pem", "cert": "a b.pem", "key": "k&.pem"},
		},
		"redis+sentinel://u:p@a,b:7,[::1]/my%2Fmaster?db=1&sentinel-user=s&sentinel-password=q": {
			form: sentinel, Addrs: []string{"a:26379", "b:7", "[::1]:26379"}, user: "u", password: "p",
			master: "my/master", db: 1, given: params{"db": "1", "sentinel-user": "s", "sentinel-password": "q"},
		},
		"redis://a?durability=strict":      {Addrs: []string{"a:6379"}, Durability: "strict", given: params{"durability": "strict"}},
		"redis://a?prefix=shop":            {Addrs: []string{"a:6379"}, given: params{"prefix": "shop"}},
		"redis+cluster://a?prefix=x.y_z-1": {form: cluster, Addrs: []string{"a:6379"}, given: params{"prefix": "x.y_z-1"}},
		"rediss+cluster://h1:7000,h2:7001": {form: cluster, tls: true, Addrs: []string{"h1:7000", "h2:7001"}},
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(URL{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", text, err, diff)
		}
	}
}

func TestErrorsOfARedisURLShowHowToWriteIt(t *testing.T) {
	for text, says := range map[string]string{
		"redis:localhost":             "begins with redis://",
		"redisss://localhost":         "begins with redis://",
		"redis+tls://localhost":       "begins with redis://",
		"valkey://localhost":          "a Redis or Valkey",
		"redis://":                    "no host",
		"redis://:zqzq@":              "no host",
		"redis://a:":                  "the port",
		"redis://a:0":                 "the port",
		"redis://a:65536":             "the port",
		"redis://:zqzq":               "the host name",
		"redis://u:zqzq":              "the port",
		"redis://::1":                 "in brackets",
		"redis://[::1":                "must end with ]",
		"redis://[zqzq]":              "not an IPv6 address",
		"redis://a,b":                 "redis+cluster://",
		"redis://a, b":                "a space or",
		"redis://a/zqzq":              "the database",
		"redis://a?db=-1":             "the database",
		"redis://a?db=1&db=2":         "twice",
		"redis://a?prefix={a}":        "the prefix must",
		"redis://a?durability=":       "no value",
		"redis://a?durability=synced": "async, default or strict",
		"redis://a?prefix=a%3A":       "the prefix must",
		"redis://a?prefix=" + strings.Repeat("a", 33): "at most 32",
		"redis://a?db=":                        "no value",
		"redis://a?zqzq=1":                     "not one of db, prefix, durability, ca",
		"redis://a?ca=/f":                      "begin the URL with rediss",
		"rediss://a?cert=/f":                   "given together",
		"rediss://a?ca=%zz":                    "%25",
		"redis://u:zq/ame@a":                   "%2F",
		"redis://u:zq@ame@a":                   "%40",
		"redis://u:zq#ame@a":                   "%23",
		"redis://u:zq:ame@a":                   "%3A",
		"redis://u:zq%ame@a":                   "%25",
		"redis://zqzq@a":                       ":PASSWORD@",
		"redis+sentinel://a":                   "after the addresses, such as redis+sentinel://USER:PASSWORD@HOST1:26379,HOST2:26379/MASTER",
		"redis+sentinel://a/b/c":               "name of the master",
		"redis+sentinel://a/b?sentinel-user=u": "sentinel-password",
		"redis+cluster://a/0":                  "only one database, such as redis+cluster://USER:PASSWORD@HOST1:6379,HOST2:6379",
		"redis+cluster://a?db=1":               "not one of prefix, durability, ca",
		"redis+cluster://a,,b":                 "address 2",
		"redis+cluster://a,a:6379":             "twice",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: it says %v, which lacks %q", text, err, says)
		} else if strings.Contains(err.Error(), "zq") {
			t.Errorf("%s: %v quotes the password", text, err)
		}
	}
}

// FuzzRedisURL looks for passwords in errors and in store names, and for
// passwords that are decoded incorrectly.
func FuzzRedisURL(f *testing.F) {
	f.Add("redis", "secret", "localhost:6379?db=1")
	f.Add("rediss+sentinel", "s:cr/t@?#%", "a,b:1,[::1]/master?sentinel-password=x")
	f.Add("redis+cluster", "s cret", "a,b")
	f.Fuzz(func(t *testing.T, scheme, password, rest string) {
		const mark = "Xq7Xq7"
		for _, written := range []string{password + mark, url.QueryEscape(password) + mark, url.PathEscape(password) + mark} {
			u, err := Parse(scheme + "://user:" + written + "@" + rest)
			if err != nil {
				if strings.Contains(err.Error(), mark) && !strings.Contains(scheme, mark) {
					t.Errorf("the error contains the password: %v", err)
				}
				continue
			}
			if !strings.HasSuffix(u.password, mark) || strings.Contains(u.String(), mark) && !strings.Contains(rest, mark) {
				t.Errorf("%q was read as %q, and written as %q", written, u.password, u.String())
			}
			again, err := Parse(u.String())
			if err != nil || again.String() != u.String() || len(u.Addrs) == 0 {
				t.Errorf("%q is read again as %q, %v", u.String(), again.String(), err)
			}
		}
	})
}
