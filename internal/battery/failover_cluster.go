package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/foliot/foliot/internal/redistest"
)

// masters is a ward of three masters with a replica each, in a Cluster.
type masters struct {
	*redistest.Cluster
	victim  int // the place of the one that was struck
	turn    int
	strikes int
}

func failOverCluster(ctx context.Context, t *trial) error {
	return failOver(ctx, t, "kill -9 in a Cluster", t.opts.clusterFailovers, openMasters)
}

func openMasters(dir, level string) (ward, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	c, err := redistest.StartCluster(dir, 3, 1, redisArgs(level)...)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &masters{Cluster: c}, nil
}

func (m *masters) url() string { return "redis+cluster://" + strings.Join(m.Addrs()[:m.Masters], ",") }

// strike kills one master after another.
func (m *masters) strike() error {
	ctx, stop := context.WithTimeout(context.Background(), strikeWithin)
	defer stop()
	for range m.Servers {
		m.turn++
		place := m.turn % len(m.Servers)
		if master, _ := m.Role(ctx, place); master {
			m.victim, m.strikes = place, m.strikes+1
			m.Servers[place].Kill()
			return nil
		}
	}
	return errors.New("there is no master to strike")
}

func (m *masters) promoted(ctx context.Context) error {
	count := 0
	for i := range m.Servers {
		if master, _ := m.Role(ctx, i); master && i != m.victim {
			count++
		}
	}
	if count < m.Masters {
		return errNoSuccessor
	}
	return nil
}

func (m *masters) heal(ctx context.Context) error {
	if err := m.Servers[m.victim].Restart(); err != nil {
		return err
	}
	return redistest.Poll(ctx, func(ctx context.Context) error {
		if _, replica := m.Role(ctx, m.victim); !replica {
			return errors.New("the old master does not follow its successor")
		}
		return m.Await(ctx)
	})
}

// promotions counts strikes: a Cluster takes a second of silence, and majorities.
func (m *masters) promotions(context.Context) (int, error) { return m.strikes, nil }

func (m *masters) close() { m.Close() }
