package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"driftlab/results/lab"
)

// serveLab serves the page to this machine until a signal comes.
func (a *app) serveLab(files []lab.File, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return bad("port %d: %w: take another with --port", port, err)
	}
	end := a.signals.begin()
	defer end()
	server := &http.Server{Handler: labHandler(files, listener.Addr().(*net.TCPAddr).Port), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-a.ctx.Done()
		server.Shutdown(context.WithoutCancel(a.ctx))
	}()
	fmt.Fprintf(a.stdout, "Lab: http://%s/ (Ctrl-C ends it)\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// labHandler answers requests for the files, and only those that were addressed to this
// machine: a page of somebody else's that resolves its own name to it is refused.
func labHandler(files []lab.File, port int) http.Handler {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	kinds := map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Content-Security-Policy", "frame-ancestors 'none'")
		header.Set("Cache-Control", "no-cache")
		if !thisMachine(r.Host, port) {
			http.Error(w, "this lab serves "+address+" only", http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "GET only", http.StatusMethodNotAllowed)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "index.html"
		}
		for _, f := range files {
			if f.Name == name {
				header.Set("Content-Type", kinds[path.Ext(name)])
				header.Set("Content-Length", strconv.Itoa(len(f.Data)))
				w.Write(f.Data)
				return
			}
		}
		http.NotFound(w, r)
	})
}

// thisMachine reports whether a Host header names the loopback interface and the port; a
// browser leaves out port 80, and a name's case does not matter.
func thisMachine(host string, port int) bool {
	name, number, err := net.SplitHostPort(host)
	if err != nil {
		name, number = host, "80"
	}
	return number == strconv.Itoa(port) && (name == "127.0.0.1" || strings.EqualFold(name, "localhost"))
}
