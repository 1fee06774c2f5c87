package replset

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/bson/primitive"

	"grove/firstboot/replset/member"
)

// A set that was restarted, all of it at once or one node after the other, is the same set with all that it had acknowledged.
func TestRestarts(t *testing.T) {
	r := newRig(t, hosts(3)...)
	id := r.together()
	w := r.writer()
	w.write(100)
	t.Run("all at once", func(t *testing.T) {
		for _, n := range r.nodes {
			n.off()
		}
		for _, n := range r.nodes {
			n.up()
		}
		r.same(id)
		w.write(100)
		w.finds(t)
	})
	t.Run("one after the other", func(t *testing.T) {
		for _, n := range r.nodes {
			n.off()
			w.write(10)
			n.up()
			r.same(id)
		}
		w.finds(t)
	})
}

// writer writes numbered documents with majority concern to whoever is primary, and remembers those that were acknowledged.
type writer struct {
	rig   *rig
	as    member.As
	next  int
	acked []int
}

func (r *rig) writer() *writer {
	r.t.Helper()
	w := &writer{rig: r, as: member.As{User: "writer", Password: "for this test alone", Database: "admin"}}
	r.until(time.Minute, func() error {
		return r.run(r.primary(), r.operator(), bson.D{{Key: "createUser", Value: w.as.User}, {Key: "pwd", Value: w.as.Password}, {Key: "roles", Value: primitive.A{"readWriteAnyDatabase"}}}, nil)
	})
	return w
}

// primary is the node that says so, the first if none does.
func (r *rig) primary() *machine {
	for _, n := range r.nodes {
		if m, err := member.Open(n.address(), member.As{}); err == nil {
			h, err := m.Hello(context.Background())
			m.Close()
			if err == nil && h.Primary {
				return n
			}
		}
	}
	return r.nodes[0]
}

// write goes on until so many more documents were acknowledged.
func (w *writer) write(more int) {
	w.rig.t.Helper()
	for until, deadline := len(w.acked)+more, time.Now().Add(time.Minute); len(w.acked) < until; {
		if time.Now().After(deadline) {
			w.rig.t.Fatal("no write was acknowledged within a minute")
		}
		m, err := member.Open(w.rig.primary().address(), w.as)
		if err != nil {
			w.rig.t.Fatal(err)
		}
		for len(w.acked) < until {
			w.next++
			var reply struct {
				N       int `bson:"n"`
				Concern any `bson:"writeConcernError"`
			}
			err := m.Run(context.Background(), "shop", bson.D{{Key: "insert", Value: "orders"}, {Key: "documents", Value: bson.A{bson.D{{Key: "_id", Value: w.next}}}},
				{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}, {Key: "wtimeout", Value: 5000}}}}, &reply)
			if err != nil || reply.N != 1 || reply.Concern != nil {
				break
			}
			w.acked = append(w.acked, w.next)
		}
		m.Close()
	}
}

// finds looks for each acknowledged document, on the primary.
func (w *writer) finds(t *testing.T) {
	t.Helper()
	m, err := member.Open(w.rig.primary().address(), w.as)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var reply struct {
		N int `bson:"n"`
	}
	if err := m.Run(context.Background(), "shop", bson.D{{Key: "count", Value: "orders"}, {Key: "query", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: w.acked}}}}}}, &reply); err != nil {
		t.Fatal(err)
	}
	if reply.N != len(w.acked) {
		t.Errorf("%d of %d acknowledged documents are there", reply.N, len(w.acked))
	}
	t.Log(fmt.Sprintf("%d acknowledged documents, all there", len(w.acked)))
}
