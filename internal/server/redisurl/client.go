package redisurl

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot/internal/fileaccess"
	"github.com/foliot/foliot/internal/store/redisstore"
	"github.com/foliot/foliot/internal/usage"
)

// dialTimeout is how long a server may take to answer a new connection. A start
// of foliot serve does not wait longer for an absent Redis: systemd or
// Kubernetes starts the process again and shows the reason. Only a Redis that
// is loading its file is waited for without a limit, because it is present.
const dialTimeout = 3 * time.Second

// Configure sets the servers and keys of a store to those that u names, and
// reads the files that u names.
func (u *URL) Configure(c *redisstore.Config) (err error) {
	c.Prefix, c.Durability = u.given["prefix"], cmp.Or(u.Durability, c.Durability)
	c.Client, err = u.options()
	return err
}

// options translates u for the client.
func (u *URL) options() (rueidis.ClientOption, error) {
	o := rueidis.ClientOption{
		InitAddress: u.Addrs, Username: u.user, Password: u.password, SelectDB: u.db, ClientName: "foliot",
		Dialer: net.Dialer{Timeout: dialTimeout}, DisableCache: true, ForceSingleClient: u.form == single,
	}
	if u.form == cluster && len(u.Addrs) == 1 {
		o.InitAddress = append(u.Addrs[:1:1], u.Addrs[0]) // with a single address the client also accepts a server that is not a Cluster
	}
	if u.tls {
		config, err := u.tlsConfig()
		if err != nil {
			return o, err
		}
		o.TLSConfig = config
	}
	if u.form == sentinel {
		o.Sentinel = rueidis.SentinelOption{
			MasterSet: u.master, Username: u.given["sentinel-user"], Password: u.given["sentinel-password"], ClientName: "foliot",
			Dialer: o.Dialer, TLSConfig: o.TLSConfig, TopologyRefreshInterval: dialTimeout,
		}
	}
	return o, nil
}

func (u *URL) tlsConfig() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: u.given["server-name"]}
	if ca := u.given["ca"]; ca != "" {
		data, err := fileaccess.Read(ca, fileaccess.Unaltered)
		if err != nil {
			return nil, usage.Errorf("--store", "ca: %v", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(data) {
			return nil, usage.Errorf("--store", "ca: %s holds no certificate in PEM", ca)
		}
	}
	if file := u.given["cert"]; file != "" {
		cert, err := fileaccess.Read(file, fileaccess.Unaltered)
		if err != nil {
			return nil, usage.Errorf("--store", "cert: %v", err)
		}
		key, err := fileaccess.Read(u.given["key"], fileaccess.SecretFile)
		if err != nil {
			return nil, usage.Errorf("--store", "key: %v", err)
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, usage.Errorf("--store", "cert and key: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
