package redisconn

import (
	"cmp"
	"log/slog"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/foliot/foliot/internal/fatal"
	"github.com/foliot/foliot/internal/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// connected connects to the server at addr with the settings of c, and watches
// it.
func connected(t *testing.T, c Config, addr string) *Servers {
	t.Helper()
	c.Client.InitAddress, c.Client.DisableCache = []string{addr}, true
	c.Durability, c.Logger = cmp.Or(c.Durability, Default), slog.New(slog.DiscardHandler)
	s, err := Connect(t.Context(), c)
	fatal.If(t, err)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// redis sends a command to s and returns the reply.
func redis(t *testing.T, s *redistest.Server, words ...string) string {
	t.Helper()
	reply, err := redistest.Command(t.Context(), s.Addr, words...)
	if err != nil || strings.HasPrefix(reply, "-") {
		t.Fatalf("%v: %s, %v", words, reply, err)
	}
	return reply
}
