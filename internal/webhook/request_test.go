package webhook

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/task"
)

// net/http is the model of the request line, of Host and of Content-Length.
func TestTheRequestIsTheOneThatNetHTTPWrites(t *testing.T) {
	for _, url := range []string{
		"http://example.com", "http://example.com/", "http://example.com?x=1", "http://example.com/a b", "http://example.com/a%20b?c=d%2f",
		"http://example.com:8080/%e4?q=%C3%A4#fragment", "https://EXAMPLE.com:443/Ä", "http://bücher.example/", "http://[::1]:80/", "http://[fe80::1%25eth0]/",
		"http://127.0.0.1/?", "http://example.com//a//b/../c", "http://example.com/;a,b", "http://example.com/\"<>",
	} {
		for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
			for _, text := range []string{"", "hello"} {
				edits := []func(*task.Spec){method(m), header("X-A", "b"), header("user-agent", "mine")}
				if text != "" {
					edits = append(edits, body(task.TextBody, text))
				}
				d, ok := valid(t, url, edits...)
				if !ok {
					continue
				}
				r, err := http.NewRequest(m, url, strings.NewReader(text)) //nolint:noctx // it is not sent
				fatal.If(t, err)
				r.Header.Set("User-Agent", "mine")
				r.Close = text != "" && (m == "GET" || m == "HEAD" || m == "DELETE" || m == "OPTIONS")
				var written bytes.Buffer
				fatal.If(t, r.Write(&written))
				target, err := parseTarget(d.Task)
				fatal.If(t, err)
				ours, err := newSender(t, Config{}).appendRequest(nil, &exchange{Delivery: d, ctx: t.Context()}, target, time.Now())
				fatal.If(t, err)
				if diff := cmp.Diff(framing(written.String()), framing(string(ours))); diff != "" {
					t.Errorf("%s %s, body %q (-net/http +Foliot):\n%s", m, url, text, diff)
				}
			}
		}
	}
}

// valid returns the delivery of a task, unless no task can have the URL.
func valid(t *testing.T, url string, edits ...func(*task.Spec)) (task.Delivery, bool) {
	d := delivery(t, "http://example.com/", edits...)
	request := d.Task.Request
	request.URL = url
	spec := task.DefaultSpec()
	spec.Request, spec.When = request, task.When{At: 1}
	spec.Name, spec.ID = d.Task.Name, d.Task.ID
	if spec.Validate(1) != nil {
		return d, false
	}
	d.Task.Request.URL = url
	return d, true
}

// framing returns the lines that say what is asked of whom, and where the request ends.
func framing(request string) (lines []string) {
	all := strings.Split(strings.SplitN(request, "\r\n\r\n", 2)[0], "\r\n")
	lines = append(lines, all[0])
	for _, name := range []string{"Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Connection"} {
		for _, line := range all[1:] {
			if strings.HasPrefix(line, name+": ") {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Node and HAProxy answer 400 to a byte outside ASCII, and Tomcat to one that
// RFC 3986 does not allow.
func TestARequestLineHasOnlyBytesThatServersAccept(t *testing.T) {
	for url, want := range map[string]string{
		"http://h/\u00fc?q=\u00f6":        "/%C3%BC?q=%C3%B6",
		"http://h?q=\u4e2d\U0001F600":     "/?q=%E4%B8%AD%F0%9F%98%80",
		"http://h/?q=\u0085\u2028":        "/?q=%C2%85%E2%80%A8",
		"http://h/?q=a|b{c}\"<>[]^\\`":    "/?q=a%7Cb%7Bc%7D%22%3C%3E%5B%5D%5E%5C%60",
		"http://h/?q=100%&r=%zz&s=%":      "/?q=100%25&r=%25zz&s=%25",
		"http://h/\u00fc%2Fa?b=%2f%C3":    "/%C3%BC%2Fa?b=%2f%C3", // what is encoded stays as it is
		"http://h/a+b?c+d=e'f?/:@#\u00f6": "/a+b?c+d=e'f?/:@",
	} {
		d := delivery(t, url)
		if got := request(t, newSender(t, Config{}), d, time.Now()).RequestURI; got != want {
			t.Errorf("%s is sent as %s, want %s", url, got, want)
		}
	}
}

// A line break would begin another request.
func TestAHeaderWithALineBreakIsNotSent(t *testing.T) {
	for name, value := range map[string]string{
		"X-A":           "b\r\nX-Evil: 1",
		"X-B":           "b\nX-Evil: 1",
		"X-C\r\nX-Evil": "1",
		"X-D: 1\r\nX":   "1",
		"":              "1",
	} {
		d := delivery(t, "http://example.com/")
		d.Task.Request.Headers = map[string]string{name: value}
		target, err := parseTarget(d.Task)
		fatal.If(t, err)
		if got, err := newSender(t, Config{}).appendRequest(nil, &exchange{Delivery: d, ctx: t.Context()}, target, time.Now()); err == nil {
			t.Errorf("%q: %q is sent as\n%s", name, value, got)
		}
	}
}
