// Package idle closes connections that were not used for a while, and can send
// pings to keep the rest alive. A use costs the copy of one number, and the
// package imports only the standard library and package wheel.
//
//	group := idle.New(idle.Config{AllIdle: 2 * time.Minute}, func(c net.Conn, why idle.Reason) idle.Verdict {
//		return idle.Close()
//	})
//	listener = idle.NewListener(listener, group)
//	err = http.Serve(listener, handler) // each Read and Write is a use
//
// The function that New is given is called the callback. The group calls it for
// a connection that is due, and the callback decides.
//
// A Group watches connections of any kind, in one of three ways:
//
//   - NewListener and NewConn return connections that touch by themselves.
//   - WatchServer follows the connection states of an http.Server.
//   - A program embeds an Entry in its own connections and calls Track,
//     Untrack, TouchRead, TouchWrite and Pong.
//
// On Linux the group can read the times of the last bytes from the kernel
// instead: see Config.Activity.
//
// # Guarantees
//
//   - No connection is closed before its timeout. MaxAge and PingEvery may be
//     shorter by their Jitter, and pressure shortens all timeouts except
//     pings. A garbage collection, a starved or stopped process, or a machine
//     that slept closes none: after each, every connection has a full timeout
//     to speak.
//   - Group calls the callback for a silent connection at most two resolutions
//     after its timeout. It may be later by one timeout for each stall, and by
//     the delay that MaxPerTick or a busy callback causes.
//   - A use just before the call of the callback keeps the connection. So does
//     a read before the close, unless the reason is Age, Ping or Evicted.
//     Therefore the callback may be called again for a connection for which it
//     returned Close.
//   - One of Untrack, Close and the verdict ends a connection, exactly once,
//     in whichever order they happen.
//
// # Cost
//
// A touch takes less than 2 ns and allocates nothing. A connection takes 88
// bytes with its Entry if C is a pointer, and 8 more if C is an interface.
// MaxAge or Handshake adds 4 bytes, the kernel source and NewConn add 16 and a
// RawConn, and a verdict that kept the connection adds 32. For the garbage
// collector this is only two new pointers, to the connection and to its Entry;
// NewConn and WatchServer add an object of their own. No connection has a
// goroutine, and the group has none while no connection is due. A group with
// connections wakes up twice in each resolution, and an empty group never.
//
// DESIGN.md in the package's directory has the design, and the proof that no
// connection is closed early.
package idle
