// Package history has figures of the past, by time, namespace and queue: attempts,
// their lateness, deaths, creates and cancels. A Recorder has the figures of the
// present minute of one process, and writes them to the store every few seconds, in
// place of its earlier writes. So a repeated write counts nothing twice, the parts
// of several processes add up when they are read, and a process that is killed loses
// at most the counts since its last write.
//
// The store keeps minutes for a day. Half a minute after an hour, when all processes have
// written its minutes, each node sums them into one part, which the store keeps for 90
// days. Nodes that do so at once write the same sum.
package history
