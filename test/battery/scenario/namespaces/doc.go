// Package namespaces has the attacks by one namespace, or by a client without a
// token, next to a namespace with 20 tasks a second.
//
// The attacker is a process of its own (attacker.go). The server runs in a memory
// cgroup (attack_run.go). row.go compares the measurements with the promises.
package namespaces
