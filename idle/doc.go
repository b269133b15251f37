// Package idle closes connections that nobody used for a while, and keeps the others alive with pings, at the cost of copying a number
// for each use. It imports the standard library and package wheel alone.
//
//	g := idle.New(idle.Config{AllIdle: 2 * time.Minute}, func(c net.Conn, why idle.Reason) idle.Verdict { return idle.Close })
//	l = idle.NewListener(l, g) // and serve as before
//
// A Group watches connections of any kind: NewListener and NewConn touch them for the program, WatchServer follows the states of an http.Server, and
// a program with connections of its own embeds an Entry in each, calls Track and Untrack, and TouchRead, TouchWrite and Pong as bytes
// come and go. On Linux the group can ask the kernel instead of being told (Config.Activity).
//
// # What is promised
//
//   - Nothing is closed before its timeout (MaxAge and PingEvery less their Jitter, and all but pings less the pressure): not by a garbage
//     collection, a starved or stopped process, or a machine that slept. After each of those every connection has a full timeout to speak.
//   - What is silent is asked about at the latest two resolutions after its timeout; later by one timeout for each stall, and by what
//     MaxPerTick or a busy `on` holds back.
//   - A use just before `on` is called keeps the connection, and so does a read before the close, unless the reason is Age, Ping or
//     Evicted. So `on` may be called again for a connection for which it has returned Close.
//   - Of Untrack, Close and the verdict one ends a connection, once, in whatever order they come.
//
// # What it costs
//
// A touch takes under 2 ns and allocates nothing. A connection takes 88 bytes with its Entry if C is a pointer, 8 more if it is an
// interface; 4 for MaxAge or Handshake, 16 and a RawConn for the kernel source and in NewConn, 32 where connections were kept. Nothing of
// that is new to the garbage collector but a pointer to the connection and one to its Entry. NewConn and WatchServer add an object of their own.
// There is no goroutine for a connection, and none at all while nothing is due. A group with connections wakes up twice in each
// resolution; an empty one never does.
//
// # How idleness is told
//
// A group counts steps, two for each resolution R, on a fixed grid, while it has connections. A touch stores the number of the present
// step in the connection's entry: no clock is read, no lock taken, no timer moved. With steps of r = R/2, a connection whose timeout
// is T is idle at step n if
//
//	n − max(touched, floor) ≥ ceil(T/r) + 3
//
// Invariant: it has then been silent for T at least. Step k is taken at k·r or later, and, but for stalls, at k·r + R = (k+2)·r at the
// latest. What was touched in step c was touched before step c+1 was taken, so before (c+3)·r; and step n is taken at n·r or later,
// that is at (c+3)·r + T or later. It was touched at c·r or later, so a punctual step n comes at most 3r, and the part of r by which T
// is rounded up, after the timeout: less than 4r = 2R.
//
// A stall is a step that is taken later than R after its place: the process was stopped, starved, or the machine suspended. Then
// the touched numbers are older than the touches, and nobody could speak. So the floor is raised to that step: every connection
// counts as touched then, and has a full timeout to speak.
//
// A cached time instead of a number would be wrong: when it is stale, it closes early.
//
// # Where it is from
//
// A timer that is not moved by each use but looked at when it fires is as old as callouts for TCP keepalive; a counter that stands for
// the clock is what coarse clocks are. That idleness must be counted in what the process has lived through, and not in time, is
// what LXD learnt when stalls killed its members (lxd#9632).
package idle
