package redis_test

import (
	"context"
	"log"
	"net"
	"time"

	"github.com/redis/rueidis"

	"github.com/foliot/foliot"
	"github.com/foliot/foliot/redis"
)

// Several processes run the handlers of one Redis.
func ExampleParse() {
	store, err := redis.Parse("redis://localhost:6379/0?prefix=shop")
	if err != nil {
		log.Fatal(err)
	}
	node, err := foliot.Open(context.Background(), store, new(foliot.Mux), foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
}

// A program that has client settings of its own passes them on.
func ExampleUse() {
	store := redis.Use(rueidis.ClientOption{
		InitAddress: []string{"localhost:6379"},
		Dialer:      net.Dialer{Timeout: 2 * time.Second},
	}, redis.Options{Prefix: "shop", Durability: redis.Strict})
	node, err := foliot.Open(context.Background(), store, new(foliot.Mux), foliot.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
}
