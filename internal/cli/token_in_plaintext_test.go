package cli

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/foliot/foliot/internal/cli/exit"
	"github.com/foliot/foliot/internal/wire"
)

// The address of a network interface is not loopback, although it belongs to
// this machine.
func TestACommandWarnsBeforeItSendsATokenInPlainText(t *testing.T) {
	var sent string
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("Authorization")
		if r.URL.Path != "/elsewhere" {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("Content-Type", wire.ProblemType)
		t.Error("the command follows a redirect, with its token")
	})
	for _, address := range []string{"127.0.0.1", ownAddress()} {
		if address == "" {
			t.Skip("NOT TESTED: this machine has no address but loopback")
		}
		l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
		if err != nil {
			t.Skipf("NOT TESTED: %v", err)
		}
		srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: handler}}
		srv.Start()
		_, errs, _ := (&session{t: t, server: srv.URL}).run("", "--token", "foliot_secret", "ls")
		srv.Close()
		if sent == "" || strings.Contains(errs, "warning: the access token") != (address != "127.0.0.1") {
			t.Errorf("at %s it sends %q and prints %q", address, sent, errs)
		}
		_, errs, code := (&session{t: t, server: strings.Replace(srv.URL, "//", "//u:hush@", 1)}).run("", "ls")
		if code != exit.Usage || strings.Contains(errs, "hush") {
			t.Errorf("a server's URL with a password: %d %q", code, errs)
		}
	}
}

// ownAddress returns an address of this machine that is not loopback, or "".
func ownAddress() string {
	list, _ := net.InterfaceAddrs()
	for _, a := range list {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			return ip.IP.String()
		}
	}
	return ""
}
