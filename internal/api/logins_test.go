package api_test

import (
	"encoding/binary"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/foliot/foliot/internal/api"
	"github.com/foliot/foliot/internal/quick"
	"github.com/foliot/foliot/internal/settings"
)

// eachItsOwn gives each request another address.
func eachItsOwn() func(*http.Request) netip.Addr {
	var n uint32
	return func(*http.Request) netip.Addr {
		n++
		return netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n)))
	}
}

// from takes the address of a request from a header.
func from(c *api.Config) {
	c.ClientAddr = func(r *http.Request) netip.Addr {
		addr, _ := netip.ParseAddr(r.Header.Get("X-From"))
		return addr
	}
}

// guess sends an invalid token.
func (s *service) guess(addr string) reply {
	token, _ := settings.MintToken()
	return s.do("GET", "/v1/tasks", "", "Authorization: Bearer "+token, "X-From: "+addr)
}

// guessOnly sends an invalid token and does not check the reply.
func (s *service) guessOnly(addr string) {
	token, _ := settings.MintToken()
	s.status("/v1/tasks", "Authorization: Bearer "+token, "X-From: "+addr)
}

func TestGuessesAtTokensAreSlowedDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, from)
		good := s.token("default", settings.ScopeRead)
		for range 10 {
			s.guess("192.0.2.1").problem(401, "token_invalid", "Authorization")
		}
		r := s.guess("192.0.2.1")
		r.problem(429, "too_many_logins", "Authorization")
		if r.header.Get("Retry-After") != "6" {
			t.Errorf("Retry-After %q", r.header.Get("Retry-After"))
		}
		// A client with an old token must not lock out its neighbours.
		s.do("GET", "/v1/tasks", "", good, "X-From: 192.0.2.1").want(200, nil)
		// A request without a token is no guess.
		s.do("GET", "/v1/tasks", "", "X-From: 192.0.2.1").problem(401, "token_required", "Authorization")

		guesses := 0
		for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
			if s.guess("192.0.2.1").status == 401 {
				guesses++
			}
		}
		if guesses > 100 {
			t.Errorf("%d guesses in 10 minutes", guesses)
		}
	})
}

func TestAValidTokenIsNeverLockedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, from)
		good := s.token("default", settings.ScopeRead)
		for i := range 20_000 { // twice the number of remembered addresses
			s.guessOnly(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(0x0a000000+i/5)))).String())
		}
		s.do("GET", "/v1/tasks", "", good, "X-From: 192.0.2.2").want(200, nil)
		for range 100 { // valid tokens do not count
			s.do("GET", "/v1/tasks", "", good, "X-From: 192.0.2.2").want(200, nil)
		}
		// One machine has 2^64 addresses of IPv6, and one limit for all of them.
		refused := 0
		for i := range 100 {
			if s.guess("2001:db8::"+strconv.FormatInt(int64(i), 16)).status == 429 {
				refused++
			}
		}
		if refused != 90 {
			t.Errorf("%d of 100 guesses from one /64 were refused", refused)
		}
		s.do("GET", "/v1/tasks", "", good, "X-From: 2001:db8:0:1::1").want(200, nil)
		s.do("GET", "/v1/tasks", "", good, "X-From: 2001:db8::1").want(200, nil)
		s.do("GET", "/v1/tasks", "", good, "X-From: ::ffff:192.0.2.2").want(200, nil)
	})
}

func TestRememberingGuessesTakesBoundedMemory(t *testing.T) {
	quick.Leave(t, "guesses a million tokens")
	n := 200_000
	if testing.Short() {
		n = 50_000
	}
	s := serve(t, from)
	s.token("default", settings.ScopeRead)
	before := heap()
	for i := range n {
		s.guessOnly(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, uint32(0x0a000000+i)))).String())
	}
	if grown := int64(heap()) - int64(before); grown > 3<<20 {
		t.Errorf("%d guesses, each from an address of its own, left %d bytes", n, grown)
	}
	runtime.KeepAlive(s)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
