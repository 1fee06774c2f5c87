package probe

import (
	"context"
	"net"
	"testing"
	"time"
)

// That a real mongod answers and keeps a document is seen in the lab's trials; here is what happens when it does not.
func TestEveryCallEndsWithoutAMongod(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // takes connections, says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	hasty, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and closes them, as a forwarded port does
	if err != nil {
		t.Fatal(err)
	}
	defer hasty.Close()
	go func() {
		for {
			conn, err := hasty.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	for name, address := range map[string]string{"nobody listens": closed.Addr().String(), "silent": silent.Addr().String(), "hasty": hasty.Addr().String()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			server := Server{Address: address}
			_, err := server.Ping(context.Background())
			for _, err := range []error{err, server.Write(context.Background(), "x"), server.Read(context.Background(), "x")} {
				if err == nil {
					t.Error("got no error")
				}
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("three calls took %v", took)
			}
		})
	}
}

func TestACancelledCallEndsAtOnce(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(200*time.Millisecond, cancel)
	began := time.Now()
	if _, err := (Server{Address: silent.Addr().String()}).Ping(ctx); err == nil {
		t.Error("got no error")
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("took %v after the cancellation", took)
	}
}
