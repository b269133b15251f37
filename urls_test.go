package foliot_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/dir"
	"github.com/foliot/foliot/foliottest"
	"github.com/foliot/foliot/internal/fatal"
)

func TestARequestReachesOnlyWhatURLsOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // nothing is sent, so time can be fake
		var log bytes.Buffer
		n := foliottest.StartWith(t, nil, foliot.Options{URLs: foliot.URLs("10.0.0.0/8"), Grace: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for url, want := range map[string]string{
			"http://127.0.0.1:9/":       "foliot.URLs 127.0.0.1/32 opens it",
			"http://192.168.3.4/":       "foliot.URLs 192.168.3.4/32 opens it",
			"http://169.254.169.254/me": "which foliot.URLs does not open",
		} {
			fatal.If(t, errOf(foliot.HTTP.Put(t.Context(), n, "call", foliot.In(0), foliot.Request{URL: url})))
			pass(time.Second)
			if i := get(t, n, "call"); i.State != foliot.StateDead || !strings.Contains(i.LastError, "foliot.URLs") || !strings.Contains(log.String(), want) {
				t.Errorf("%s: %s, %q, %s", url, i.State, i.LastError, &log)
			}
		}
	})
}

func TestWithoutURLsARequestWaitsAndTheNodeSaysSo(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, _ *calls) {
		fatal.If(t, errOf(foliot.HTTP.In(t.Context(), n, "call", time.Second, foliot.Request{URL: "https://shop.example/"})))
		pass(time.Minute)
		if i := get(t, n, "call"); i.State != foliot.StateScheduled || i.Kind != "" || i.WaitsFor.Reason != "runner" {
			t.Errorf("it is %+v", i)
		}
	})
}

func TestARequestIsACopyOfTheCallersBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := foliottest.StartWith(t, nil, foliot.Options{Grace: -1, URLs: foliot.URLs()})
		body, headers := []byte("before"), map[string]string{"X-Color": "red"}
		fatal.If(t, errOf(foliot.HTTP.In(t.Context(), n, "call", time.Hour, foliot.Request{URL: "https://shop.example/", Body: body, Headers: headers})))
		copy(body, "AFTER!")
		headers["X-Color"] = "blue"
		if r := foliot.StoredRequest(t, n, "call"); string(r.Body) != "before" || r.Headers["X-Color"] != "red" {
			t.Errorf("the store has %q and %v", r.Body, r.Headers)
		}
	})
}

func TestAWrongRequestIsRefusedWithItsReason(t *testing.T) {
	inBubble(t, succeed, func(t *testing.T, n *foliot.Node, _ *calls) {
		for want, r := range map[string]foliot.Request{
			"the URL to call":    {},
			"http":               {URL: "ftp://shop.example/"},
			"must be one of GET": {URL: "https://shop.example/", Method: "TRACE"},
			"the body has":       {URL: "https://shop.example/", Body: bytes.Repeat([]byte("x"), 1<<20+1)},
			"both JSON and Body": {URL: "https://shop.example/", JSON: 1, Body: []byte("1")},
			"cannot encode":      {URL: "https://shop.example/", JSON: func() {}},
			"webhook-id":         {URL: "https://shop.example/", Headers: map[string]string{"webhook-id": "1"}},
		} {
			if _, err := foliot.HTTP.In(t.Context(), n, "call", time.Second, r); !errors.Is(err, foliot.ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("want %q: %v", want, err)
			}
		}
	})
	path := t.TempDir() + "/timers"
	_, err := foliot.Open(t.Context(), dir.Store(path), nil, foliot.Options{URLs: foliot.URLs("intranet")})
	if err == nil || !strings.Contains(err.Error(), `URLs is wrong: "intranet"`) {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it made the directory")
	}
}
