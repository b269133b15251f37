// Package admin has the commands of operators: queues, tokens, secrets,
// namespaces, the nodes of a cluster, the audit log and live figures.
package admin
