package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHealthAnswers(t *testing.T) {
	var fault error
	metrics := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "metrics") })
	handler := Health(func() error { return fault }, metrics)
	for _, test := range []struct {
		method, path string
		fault        error
		code         int
		body         string
	}{
		{http.MethodGet, "/healthz", nil, 200, "ok"},
		{http.MethodGet, "/healthz", errors.New("writing is on hold"), 200, "ok"}, // a restart would not mend it
		{http.MethodGet, "/readyz", nil, 200, "ok"},
		{http.MethodGet, "/readyz", errors.New("writing is on hold"), 503, "writing is on hold"},
		{http.MethodGet, "/metrics", nil, 200, "metrics"},
		{http.MethodGet, "/secrets", nil, 404, ""},
		{http.MethodPost, "/readyz", nil, 405, ""},
	} {
		fault = test.fault
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest(test.method, test.path, nil))
		if rec.Code != test.code || !strings.Contains(rec.Body.String(), test.body) {
			t.Errorf("%s %s: %d %q, want %d %q", test.method, test.path, rec.Code, rec.Body, test.code, test.body)
		}
	}
}

func TestServeLetsRequestsFinish(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		time.Sleep(50 * time.Millisecond)
		_, _ = fmt.Fprint(w, "whole")
	})
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, slow) }()
	answer := make(chan string, 1)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	go func() {
		response, err := client.Get("http://" + listener.Addr().String())
		if err != nil {
			answer <- err.Error()
			return
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answer <- string(body)
	}()
	<-arrived
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "whole" {
		t.Errorf("a request in progress got %q", got)
	}
}
