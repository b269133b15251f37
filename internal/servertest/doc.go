// Package servertest has what the tests of servers share: certificates, a log
// that can be waited for, a receiver whose answers the test holds back.
package servertest
