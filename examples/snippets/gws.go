package snippets

import (
	"net/http"

	"github.com/foliot/foliot/idle"
	"github.com/lxzan/gws"
)

type gwsConn struct {
	idle.Entry
	*gws.Conn
}

// Close is called by the group, on a worker. WriteClose would wait for a write
// under way, without a limit.
func (c *gwsConn) Close() error { return c.NetConn().Close() }

func newGWSConns(cfg idle.Config) *idle.Group[*gwsConn] {
	return idle.New(cfg, func(c *gwsConn, why idle.Reason) idle.Verdict {
		if why != idle.Ping {
			return idle.Close()
		}
		c.Async(func() { c.WritePing(nil) }) // WritePing may wait for the socket, so Async runs it elsewhere
		return idle.Keep()
	})
}

type gwsHandler struct {
	gws.BuiltinEventHandler
	conns *idle.Group[*gwsConn]
}

func watched(ws *gws.Conn) *gwsConn {
	c, _ := ws.Session().Load("watched")
	return c.(*gwsConn)
}

func (h *gwsHandler) OnOpen(ws *gws.Conn) {
	c := &gwsConn{Conn: ws}
	ws.Session().Store("watched", c)
	if h.conns.Track(c, &c.Entry) != nil {
		c.Close()
	}
}

func (h *gwsHandler) OnClose(ws *gws.Conn, _ error)     { h.conns.Untrack(&watched(ws).Entry) }
func (h *gwsHandler) OnPong(ws *gws.Conn, _ []byte)     { watched(ws).Pong() }
func (h *gwsHandler) OnPing(ws *gws.Conn, about []byte) { watched(ws).TouchRead(); ws.WritePong(about) }

func (h *gwsHandler) OnMessage(ws *gws.Conn, message *gws.Message) {
	defer message.Close()
	watched(ws).TouchRead()
	ws.WriteMessage(message.Opcode, message.Bytes())
}

func serveGWS(h *gwsHandler, w http.ResponseWriter, r *http.Request) {
	ws, err := gws.NewUpgrader(h, nil).Upgrade(w, r)
	if err != nil {
		return
	}
	ws.ReadLoop()
}
