package redisurl

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/foliot/foliot/internal/store/redisstore"
)

// URL is the parsed URL of the Redis or Valkey that holds the tasks.
type URL struct {
	form  topology
	tls   bool
	Addrs []string // host:port; with Sentinels, their addresses

	user, password string
	master         string // the master's name in the Sentinels
	db             int

	Durability redisstore.Durability // empty means that the URL has none

	given map[string]string // the parameters, decoded
}

// topology is the arrangement of the servers.
type topology int

const (
	single topology = iota
	sentinel
	cluster
)

// forms describes the URL of each topology, and each scheme has a variant for
// TLS that begins with rediss.
var forms = []struct {
	scheme, example string
	port            string
	params          []string // in addition to anyParams and tlsParams
}{
	single:   {"redis", "redis://USER:PASSWORD@HOST:6379?db=0", "6379", []string{"db"}},
	sentinel: {"redis+sentinel", "redis+sentinel://USER:PASSWORD@HOST1:26379,HOST2:26379/MASTER", "26379", []string{"db", "sentinel-user", "sentinel-password"}},
	cluster:  {"redis+cluster", "redis+cluster://USER:PASSWORD@HOST1:6379,HOST2:6379", "6379", nil},
}

// Example is the URL of a single Redis, for messages.
var Example = forms[single].example

// anyParams are the parameters of all forms.
var anyParams = []string{"prefix", "durability"}

var tlsParams = []string{"ca", "cert", "key", "server-name"}

// Is reports whether a value of --store is meant as the URL, perhaps an invalid
// one, of a Redis.
func Is(text string) bool {
	scheme, _, ok := strings.Cut(strings.ToLower(text), ":")
	return ok && (strings.HasPrefix(scheme, "redis") || strings.HasPrefix(scheme, "valkey"))
}

// Parse parses a URL. Errors quote only its scheme, because a common mistake is
// a password with a character that splits the URL, so any part may contain a
// piece of it.
func Parse(text string) (URL, error) {
	var u URL
	scheme, rest, ok := strings.Cut(text, "://")
	if form, secure := formOf(scheme); ok && form >= 0 {
		u.form, u.tls = form, secure
	} else {
		return u, errors.New("the URL of a Redis or Valkey begins with redis://, redis+sentinel:// or redis+cluster://, or with rediss instead of redis for TLS, such as " + forms[single].example)
	}
	if err := u.parse(rest); err != nil {
		return u, fmt.Errorf("%w, such as %s", err, u.example())
	}
	return u, nil
}

// formOf returns the topology of a scheme, or a number below 0 if it is
// unknown.
func formOf(scheme string) (form topology, secure bool) {
	scheme = strings.ToLower(scheme)
	if plain, ok := strings.CutPrefix(scheme, "rediss"); ok {
		scheme, secure = "redis"+plain, true
	}
	for f := range forms {
		if forms[f].scheme == scheme {
			return topology(f), secure
		}
	}
	return -1, false
}

func (u *URL) scheme() string {
	scheme := forms[u.form].scheme
	if u.tls {
		scheme = "rediss" + strings.TrimPrefix(scheme, "redis")
	}
	return scheme
}

func (u *URL) example() string {
	return u.scheme() + strings.TrimPrefix(forms[u.form].example, forms[u.form].scheme)
}

// String returns the URL without credentials and files.
func (u *URL) String() string {
	text := u.scheme() + "://" + strings.Join(u.Addrs, ",")
	if u.master != "" {
		text += "/" + url.PathEscape(u.master)
	}
	var query []string
	if u.db != 0 {
		query = append(query, "db="+strconv.Itoa(u.db))
	}
	if prefix := u.given["prefix"]; prefix != "" {
		query = append(query, "prefix="+prefix)
	}
	if len(query) > 0 {
		text += "?" + strings.Join(query, "&")
	}
	return text
}

// parse parses the URL after the scheme.
func (u *URL) parse(rest string) error {
	if strings.ContainsFunc(rest, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return errors.New("a space or a control character is not allowed")
	}
	if strings.Contains(rest, "#") {
		return errors.New("a # is not allowed: write it as %23")
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		if err := u.parseUser(rest[:at]); err != nil {
			return err
		}
		rest = rest[at+1:]
	}
	rest, query, _ := strings.Cut(rest, "?")
	hosts, path, _ := strings.Cut(rest, "/")
	if err := u.parseHosts(hosts); err != nil {
		return err
	}
	if err := u.parsePath(path); err != nil {
		return err
	}
	return u.parseQuery(query)
}

// parseUser parses the credentials.
func (u *URL) parseUser(text string) (err error) {
	if strings.ContainsAny(text, "@/?,[]") {
		return errors.New("the part before the last @ must be a user and a password: in them, and in the rest of the URL, write @ as %40, / as %2F, ? as %3F, a comma as %2C, [ as %5B and ] as %5D")
	}
	user, password, ok := strings.Cut(text, ":")
	if !ok || password == "" {
		return errors.New("the part before the @ has no password: without a user, write :PASSWORD@")
	}
	if strings.Contains(password, ":") {
		return errors.New("write a colon in the user or the password as %3A")
	}
	if u.user, err = unescape(user); err == nil {
		u.password, err = unescape(password)
	}
	return err
}

// unescape decodes text, which its error does not quote.
func unescape(text string) (string, error) {
	plain, err := url.PathUnescape(text)
	if err != nil {
		return "", errors.New("write % as %25, unless two hexadecimal digits follow it to encode a character")
	}
	return plain, nil
}

func (u *URL) parseHosts(text string) error {
	if text == "" {
		return errors.New("no host is given")
	}
	for host := range strings.SplitSeq(text, ",") {
		addr, err := redisAddr(host, forms[u.form].port)
		if err != nil {
			return fmt.Errorf("address %d: %w", len(u.Addrs)+1, err)
		}
		if slices.Contains(u.Addrs, addr) {
			return fmt.Errorf("address %d is given twice", len(u.Addrs)+1)
		}
		u.Addrs = append(u.Addrs, addr)
	}
	if u.form == single && len(u.Addrs) > 1 {
		return errors.New("redis:// takes one address: use redis+sentinel:// for the addresses of Sentinels, and redis+cluster:// for those of a Cluster")
	}
	return nil
}

// redisAddr returns text, a host with an optional port, as host:port.
func redisAddr(text, port string) (string, error) {
	var host string
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return "", errors.New("an IPv6 address must end with ]")
		}
		host, text = text[1:end], text[end+1:]
		if ip, err := netip.ParseAddr(host); err != nil || !ip.Is6() {
			return "", errors.New("the text between [ and ] is not an IPv6 address")
		}
	} else {
		host, _, _ = strings.Cut(text, ":")
		text = text[len(host):]
		if strings.Count(text, ":") > 1 {
			return "", errors.New("more than one colon: put an IPv6 address in brackets, as in [::1]:6379")
		}
		if host == "" || strings.ContainsFunc(host, notOfHosts) {
			return "", errors.New("the host name must consist of letters, digits, dots and dashes")
		}
	}
	if text != "" {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, ":"), 10, 16)
		if text[0] != ':' || err != nil || n == 0 {
			return "", errors.New("the port must be a number from 1 to 65535")
		}
		port = strconv.FormatUint(n, 10)
	}
	return net.JoinHostPort(host, port), nil
}

func notOfHosts(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' || r == '_')
}

// parsePath parses the master's name, or the number of a database as other
// clients accept it.
func (u *URL) parsePath(text string) (err error) {
	switch {
	case u.form == sentinel && (text == "" || strings.Contains(text, "/")):
		return errors.New("add the name of the master, as the Sentinels know it, after the addresses")
	case u.form == sentinel:
		u.master, err = unescape(text)
		return err
	case text == "":
		return nil
	case u.form == cluster:
		return errors.New("nothing may follow the addresses of a Cluster, because it has only one database")
	}
	return u.setDB(text)
}

func (u *URL) setDB(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return errors.New("the database must be a number")
	}
	u.db = int(n)
	return nil
}

// maxPrefix bounds the prefix, because each key has it.
const maxPrefix = 32

// parseQuery parses the parameters.
func (u *URL) parseQuery(text string) error {
	if text == "" {
		return nil
	}
	known := slices.Concat(forms[u.form].params, anyParams, tlsParams)
	u.given = map[string]string{}
	for pair := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(pair, "=")
		value, err := unescape(value)
		switch {
		case err != nil:
			return err
		case !slices.Contains(known, name):
			return fmt.Errorf("a parameter after the ? is not one of %s", strings.Join(known, ", "))
		case u.given[name] != "":
			return fmt.Errorf("the parameter %s is given twice", name)
		case value == "":
			return fmt.Errorf("the parameter %s has no value", name)
		case !u.tls && slices.Contains(tlsParams, name):
			return fmt.Errorf("the parameter %s is for TLS: begin the URL with rediss", name)
		}
		u.given[name] = value
		if err := u.check(name, value); err != nil {
			return err
		}
	}
	switch {
	case (u.given["cert"] == "") != (u.given["key"] == ""):
		return errors.New("the parameters cert and key must be given together")
	case u.given["sentinel-user"] != "" && u.given["sentinel-password"] == "":
		return errors.New("sentinel-user requires sentinel-password")
	}
	return nil
}

// CheckPrefix checks the first word of all keys. It has no characters with a
// meaning in keys (a brace begins a hash tag), in patterns of an ACL, or in a URL.
func CheckPrefix(text string) error {
	if len(text) > maxPrefix || strings.ContainsFunc(text, notOfHosts) {
		return fmt.Errorf("the prefix must have at most %d letters, digits, dots, dashes and underscores", maxPrefix)
	}
	return nil
}

// check checks the parameters that are not texts.
func (u *URL) check(name, value string) error {
	switch name {
	case "db":
		return u.setDB(value)
	case "prefix":
		return CheckPrefix(value)
	case "durability":
		u.Durability = redisstore.Durability(value)
		if u.Durability.Check() != nil {
			return errors.New("the durability must be async, default or strict")
		}
	}
	return nil
}
