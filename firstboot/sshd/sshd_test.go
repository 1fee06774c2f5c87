package sshd

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"grove/internal/host"
)

// rig is a server on the loopback address, with the system's own shell.
type rig struct {
	address string
	host    ssh.PublicKey
	key     ssh.Signer
	stop    context.CancelFunc
	ended   chan struct{}
	home    string

	mu     sync.Mutex
	events []Event
}

func signer(t *testing.T) ssh.Signer {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func serve(t *testing.T) *rig {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := HostKey(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &rig{address: l.Addr().String(), host: key.PublicKey(), key: signer(t), stop: stop, ended: make(chan struct{}), home: t.TempDir()}
	s := &Server{HostKey: key, Talks: host.Real{}, Shell: "/bin/sh", Env: []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TEST=" + t.Name()}, Home: r.home,
		Keys: func() []Key {
			return []Key{{Public: signerOther.PublicKey()}, {Public: r.key.PublicKey(), Comment: "test"}}
		},
		Tell: func(e Event) { r.mu.Lock(); defer r.mu.Unlock(); r.events = append(r.events, e) }}
	go func() { defer close(r.ended); _ = s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		select {
		case <-r.ended:
		case <-time.After(20 * time.Second):
			t.Error("the server does not end")
		}
	})
	return r
}

// signerOther is of another operator, who is not here.
var signerOther = func() ssh.Signer {
	_, private, _ := ed25519.GenerateKey(nil)
	s, _ := ssh.NewSignerFromKey(private)
	return s
}()

func (r *rig) dial(user string, auth ...ssh.AuthMethod) (*ssh.Client, error) {
	return ssh.Dial("tcp", r.address, &ssh.ClientConfig{User: user, Auth: auth, HostKeyCallback: ssh.FixedHostKey(r.host), Timeout: 20 * time.Second})
}

func (r *rig) client(t *testing.T) *ssh.Client {
	t.Helper()
	c, err := r.dial("root", ssh.PublicKeys(r.key))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func open(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// soon fails a test in which something waits for ever.
func soon(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not so within 20 s: " + what)
		}
	}
}

func (r *rig) refused(words string) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, e := range r.events {
			if e.Kind == Refused && strings.Contains(e.Why, words) {
				return true
			}
		}
		return false
	}
}

func TestCommand(t *testing.T) {
	c := serve(t).client(t)
	s := open(t, c)
	var out, errs bytes.Buffer
	s.Stdin, s.Stdout, s.Stderr = strings.NewReader("sent\n"), &out, &errs
	_ = s.Setenv("LC_ALL", "C.UTF-8")
	err := s.Run("cat; echo $LC_ALL $GROVE_SESSION ${SSH_CONNECTION%% *}; pwd >&2; exit 42")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 42 {
		t.Errorf("got %v; want exit code 42", err)
	}
	if got, want := out.String(), "sent\nC.UTF-8 ssh 127.0.0.1\n"; got != want || !strings.HasPrefix(errs.String(), "/") {
		t.Errorf("got %q, %q; want %q", got, errs.String(), want)
	}
}

func TestManyCommandsAtOnce(t *testing.T) {
	r := serve(t)
	var all sync.WaitGroup
	for range 3 {
		c := r.client(t)
		for i := range mostAtOnce {
			s := open(t, c)
			all.Go(func() {
				out, err := s.Output(fmt.Sprintf("head -c 200000 /dev/zero; echo %d", i))
				if err != nil || len(out) < 200002 || !strings.HasSuffix(string(out), fmt.Sprintf("\x00%d\n", i)) {
					t.Errorf("%d: got %d bytes, %v", i, len(out), err)
				}
			})
		}
	}
	all.Wait()
	c := r.client(t)
	for range mostAtOnce {
		open(t, c)
	}
	if s, err := c.NewSession(); err == nil {
		s.Close()
		t.Error("a session more than there may be is opened")
	}
}

func TestShellAtATerminal(t *testing.T) {
	s := open(t, serve(t).client(t))
	if err := s.RequestPty("xterm", 24, 80, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	in, _ := s.StdinPipe()
	var out lockedBuffer
	s.Stdout = &out
	if err := s.Shell(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, "stty size; tty; echo $TERM")
	soon(t, "it says its size", func() bool {
		return strings.Contains(out.String(), "24 80\r\n/dev/pts/") && strings.Contains(out.String(), "xterm\r\n")
	})
	for i := range 50 {
		if err := s.WindowChange(30+i, 100); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintln(in, "stty size")
	soon(t, "it says its new size", func() bool { return strings.Contains(out.String(), "79 100\r\n") })
	fmt.Fprintln(in, "stty raw -echo; printf 'a\\nb\\r\\r\\nc'; stty sane; echo is' 'sane")
	soon(t, "what a program prints at a raw terminal is not changed", func() bool { return strings.Contains(out.String(), "a\nb\r\r\nc") })
	soon(t, "the terminal is as before", func() bool { return strings.Contains(out.String(), "is sane\r\n") })
	in.Close() // the end of input is the end of the shell
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	soon(t, "the shell ends", func() bool { return len(ended) > 0 })
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestSignal(t *testing.T) {
	s := open(t, serve(t).client(t))
	if err := s.Start("sleep 60"); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := s.Signal(ssh.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := s.Wait(); !errors.As(err, &exit) || exit.Signal() != "TERM" {
		t.Errorf("got %v; want signal TERM", err)
	}
}

// Ways of a client to go: it closes the session, the connection, or the node's agent ends.
func TestProgramEndsWithItsClient(t *testing.T) {
	for name, leave := range map[string]func(*rig, *ssh.Client, *ssh.Session){
		"session":    func(_ *rig, _ *ssh.Client, s *ssh.Session) { s.Close() },
		"connection": func(_ *rig, c *ssh.Client, _ *ssh.Session) { c.Close() },
		"agent":      func(r *rig, _ *ssh.Client, _ *ssh.Session) { r.stop() },
	} {
		for _, stubborn := range []string{"", "trap '' HUP; "} {
			r := serve(t)
			c := r.client(t)
			s := open(t, c)
			if err := s.Start(stubborn + "echo $$ >pid; while :; do sleep 0.1; done"); err != nil {
				t.Fatal(err)
			}
			var pid string
			soon(t, "it runs", func() bool {
				data, _ := os.ReadFile(r.home + "/pid")
				pid = strings.TrimSpace(string(data))
				return pid != ""
			})
			leave(r, c, s)
			soon(t, name+stubborn+": its program ends", func() bool { _, err := os.Stat("/proc/" + pid); return err != nil })
		}
	}
}

// gone is a connection whose client has vanished: nothing is answered, and only Close ends the waiting.
type gone struct {
	ssh.Conn
	asked  int
	closed chan struct{}
}

func (g *gone) SendRequest(string, bool, []byte) (bool, []byte, error) {
	if g.asked++; g.asked < 3 {
		return false, nil, nil // it was there for a while
	}
	<-g.closed
	return false, nil, io.EOF
}

func (g *gone) Close() error { close(g.closed); return nil }

func TestConnectionWhoseClientVanishedIsClosed(t *testing.T) {
	g := &gone{closed: make(chan struct{})}
	ended := make(chan struct{})
	go func() { defer close(ended); keepAlive(t.Context(), g, time.Millisecond, 20*time.Millisecond) }()
	soon(t, "it is closed", func() bool {
		select {
		case <-ended:
			return g.asked == 3
		default:
			return false
		}
	})
}

func TestOnlyTheOperatorsKeysOpen(t *testing.T) {
	r := serve(t)
	tried := false
	password := ssh.PasswordCallback(func() (string, error) { tried = true; return "secret", nil })
	asked := ssh.KeyboardInteractive(func(string, string, []string, []bool) ([]string, error) { tried = true; return nil, nil })
	_, err := r.dial("root", ssh.PublicKeys(signer(t)), password, asked)
	if err == nil || tried {
		t.Errorf("another key: %v; asked for a password: %v", err, tried)
	}
	soon(t, "the reason", r.refused("is not one of the operator's"))
	if _, err = r.dial("admin", ssh.PublicKeys(r.key)); err == nil {
		t.Error("another user is let in")
	}
	soon(t, "the reason", r.refused(`there is no user "admin", only root`))
	if _, err = r.dial("root"); err == nil {
		t.Error("nobody is let in")
	}
	if c, err := r.dial("root", ssh.PublicKeys(signer(t), signer(t), signer(t), r.key)); err != nil {
		t.Errorf("the fourth key of a bunch: %v", err)
	} else {
		c.Close()
	}
	var bunch []ssh.Signer
	for range 10 {
		bunch = append(bunch, signer(t))
	}
	if _, err = r.dial("root", ssh.PublicKeys(append(bunch, r.key)...)); err == nil {
		t.Error("the eleventh key is tried")
	}
}

func TestWhatIsNotOffered(t *testing.T) {
	r := serve(t)
	c := r.client(t)
	s := open(t, c)
	for _, kind := range []string{"auth-agent-req@openssh.com", "x11-req"} {
		if ok, err := s.SendRequest(kind, true, nil); ok || err != nil {
			t.Errorf("%s: %v, %v", kind, ok, err)
		}
	}
	if err := s.RequestSubsystem("sftp"); err == nil {
		t.Error("sftp is offered")
	}
	if err := s.Setenv("LD_PRELOAD", "/tmp/x.so"); err == nil {
		t.Error("LD_PRELOAD is taken")
	}
	if l, err := c.Listen("tcp", "127.0.0.1:0"); err == nil {
		l.Close()
		t.Error("the node listens for a client")
	}
	if conn, err := c.Dial("tcp", "192.0.2.1:80"); err == nil || !strings.Contains(err.Error(), "loopback address only") {
		if conn != nil {
			conn.Close()
		}
		t.Errorf("to another machine: %v", err)
	}
}

func TestWayToTheLoopbackAddress(t *testing.T) {
	c := serve(t).client(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		data, _ := io.ReadAll(conn) // until the other side has said all
		_, _ = conn.Write(bytes.ToUpper(data))
		conn.Close()
	}()
	conn, err := c.Dial("tcp", fmt.Sprintf("localhost:%d", l.Addr().(*net.TCPAddr).Port))
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Repeat("abc", 100000)
	go func() {
		_, _ = io.WriteString(conn, sent)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if got, err := io.ReadAll(conn); err != nil || string(got) != strings.ToUpper(sent) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if _, err := c.Dial("tcp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("where nobody listens: %v", err)
	}
}

func TestConnectionsLeaveNothing(t *testing.T) {
	r := serve(t)
	use := func() {
		c, err := r.dial("root", ssh.PublicKeys(r.key))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if out, err := open(t, c).Output("echo x"); string(out) != "x\n" || err != nil {
			t.Fatalf("got %q, %v", out, err)
		}
	}
	use()
	count := func() (int, int) {
		fds, _ := filepath.Glob("/proc/self/fd/*")
		return runtime.NumGoroutine(), len(fds)
	}
	goroutines, files := count()
	for range 40 { // more than may be open at a time
		use()
	}
	soon(t, "all is let go", func() bool { g, f := count(); return g <= goroutines && f <= files })
}

// The reference: OpenSSH's own client and key file.
func TestOpenSSH(t *testing.T) {
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Fatal("there is no ssh; run scripts/setup-host")
	}
	r := serve(t)
	dir := t.TempDir()
	text, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	if r.key, err = ssh.ParsePrivateKey(text); err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(r.address)
	for name, text := range map[string]string{"key": string(text), "known": "[127.0.0.1]:" + port + " " + string(ssh.MarshalAuthorizedKey(r.host))} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) (string, error) {
		args = append([]string{"-F", "none", "-p", port, "-i", dir + "/key", "-o", "IdentitiesOnly=yes", "-o", "UserKnownHostsFile=" + dir + "/known", "-o", "StrictHostKeyChecking=yes", "root@127.0.0.1"}, args...)
		c := exec.CommandContext(t.Context(), "ssh", args...)
		c.Stdin = strings.NewReader("hello\n")
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := run("cat; exit 5")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 5 || out != "hello\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err = run(); err == nil || !strings.Contains(out, "hello: not found") {
		t.Errorf("a shell without a terminal: %q, %v", out, err)
	}
	if fingerprint, err := exec.Command("ssh-keygen", "-lf", dir+"/key").CombinedOutput(); err != nil || !strings.Contains(string(fingerprint), (Key{Public: r.key.PublicKey()}).Fingerprint()) {
		t.Errorf("ssh-keygen says %q, %v", fingerprint, err)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }
