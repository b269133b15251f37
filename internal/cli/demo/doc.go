// Package demo is the command foliot demo: it starts a server of its own, kills
// it, and counts the callbacks of its timers.
//
// The ledger is pure: it compares the confirmed changes with the callbacks that
// came. Around it, the command runs the server as a child process, sends
// requests with the public client, receives the callbacks, and draws.
package demo
