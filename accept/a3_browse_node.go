package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"
	"go.mongodb.org/mongo-driver/mongo/options"
)

// browsePort is the node's, on its loopback address.
const browsePort = 8081

// browsedThroughSSH looks at a node's data as a person does: through SSH, by mongod's own user.
func browsedThroughSSH(ctx context.Context, b *bench) (string, error) {
	c, err := b.config(ctx, "bios", "virtio")
	if err != nil {
		return "", err
	}
	c.Nodes[0].Status.Browse = true
	return inLab(ctx, c, "db1", func(ctx context.Context, r *rig) (string, error) {
		if err := r.lab.Wait(ctx); err != nil {
			return "", err
		}
		if _, err := r.tells(ctx, fmt.Sprintf("browse: mongod's users see the data on http://localhost:%d", browsePort)); err != nil {
			return "", err
		}
		if err := r.server().Write(ctx, "a mark"); err != nil {
			return "", err
		}
		if err := makeReader(ctx, r.forward()); err != nil {
			return "", err
		}
		if far, err := r.lab.Sweep(ctx, neighbour, r.node, []int{browsePort}); err != nil || len(far.Open)+len(far.Refused) > 0 {
			return "", fmt.Errorf("a neighbour calls port %d: %+v, %w", browsePort, far, err)
		}
		return r.browses(ctx)
	})
}

// makeReader gives mongod a user who may read the lab's marks. The demo has no access control, so nobody need log in for it.
func makeReader(ctx context.Context, address string) error {
	client, err := mongo.Connect(ctx, options.Client().SetHosts([]string{address}).SetDirect(true).SetServerSelectionTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer client.Disconnect(context.WithoutCancel(ctx))
	return client.Database("admin").RunCommand(ctx, bson.D{{Key: "createUser", Value: "ann"}, {Key: "pwd", Value: "secret"},
		{Key: "roles", Value: bson.A{bson.D{{Key: "role", Value: "read"}, {Key: "db", Value: "grove_lab"}}}}}).Err()
}

func (r *rig) browses(ctx context.Context) (string, error) {
	ssh, err := r.lab.LogIn(ctx, r.node, nil)
	if err != nil {
		return "", err
	}
	defer ssh.Close()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	through := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return ssh.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", browsePort))
	}}
	defer through.CloseIdleConnections()
	v := visitor{&http.Client{Jar: jar, Transport: through, Timeout: time.Minute}}
	if code, _, err := v.logIn(ctx, "wrong"); err != nil || code != http.StatusUnauthorized {
		return "", fmt.Errorf("a wrong password: %d, %w", code, err)
	}
	code, page, err := v.logIn(ctx, "secret")
	if err != nil || code != http.StatusOK || !strings.Contains(page, ">grove_lab<") {
		return "", fmt.Errorf("log in: %d, %w: %s", code, err, page)
	}
	code, page, err = v.ask(ctx, "GET", "/documents?"+url.Values{"db": {"grove_lab"}, "c": {"marks"}, "filter": {`{"_id": "a mark"}`}}.Encode(), nil)
	if err != nil || code != http.StatusOK || strings.Count(page, "a mark&#34;\n}") != 1 {
		return "", fmt.Errorf("the document is not shown: %d, %w: %s", code, err, page)
	}
	s, err := r.status(ctx)
	if err != nil {
		return "", err
	}
	weigh, err := r.weights(ctx, s.Agent.PID)
	if err == nil && weigh[0].rss > 40*1024 {
		err = errors.New("the agent is too heavy")
	}
	return fmt.Sprintf("seen through SSH; the agent has %.1f MiB with a person logged in", float64(weigh[0].rss)/1024), err
}

// visitor is a browser.
type visitor struct{ http *http.Client }

func (v visitor) ask(ctx context.Context, method, path string, form url.Values) (code int, page string, err error) {
	q, err := http.NewRequestWithContext(ctx, method, fmt.Sprintf("http://localhost:%d%s", browsePort, path), strings.NewReader(form.Encode()))
	if err != nil {
		return 0, "", err
	}
	if form != nil {
		q.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	a, err := v.http.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 1<<20))
	return a.StatusCode, string(text), err
}

var hiddenToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

// logIn fills in the form.
func (v visitor) logIn(ctx context.Context, password string) (code int, page string, err error) {
	if _, page, err = v.ask(ctx, "GET", "/", nil); err != nil {
		return 0, "", err
	}
	found := hiddenToken.FindStringSubmatch(page)
	if found == nil {
		return 0, page, errors.New("there is no form")
	}
	return v.ask(ctx, "POST", "/in", url.Values{"token": {found[1]}, "user": {"ann"}, "password": {password}})
}
