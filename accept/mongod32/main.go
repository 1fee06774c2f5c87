// Command mongod32 stands for the mongod 3.2 that the owner of 32-bit boards compiled: no package registry has one. It takes the configuration file that Grove writes, as the user that
// Grove starts it as, and serves what package standin serves; see there for what that leaves out. Its data folder has a mongod's marks, and no data.
//
// Built by: GOOS=linux GOARCH=arm GOARM=7 CGO_ENABLED=0 go build ./accept/mongod32
package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"gopkg.in/yaml.v3"

	"grove/firstboot/replset/standin"
)

// version stands in the program as in a mongod's: between NULs, before the allocator's name.
var version = "\x003.2.12\x00tcmalloc\x00"

// lock is held until the end: a file that nothing refers to is closed.
var lock *os.File

// config is what it heeds of a mongod's; the rest it takes as it is.
type config struct {
	Storage struct {
		DBPath string `yaml:"dbPath"`
		Engine string
	}
	SystemLog struct{ Path string } `yaml:"systemLog"`
	Net       struct {
		Port   int
		BindIP string `yaml:"bindIp"`
	}
	Replication struct {
		Set string `yaml:"replSetName"`
	}
	Security struct {
		KeyFile       string `yaml:"keyFile"`
		Authorization string
	}
	SetParameter struct {
		Bypass *bool `yaml:"enableLocalhostAuthBypass"`
	} `yaml:"setParameter"`
}

func main() {
	if err := run(); err != nil {
		log.Print(err)
		fmt.Fprintln(os.Stderr, err)
		os.Exit(100) // mongod's for an uncaught exception
	}
}

func run() error {
	if len(os.Args) != 3 || os.Args[1] != "--config" {
		return fmt.Errorf("usage: mongod --config FILE, have %q", os.Args[1:])
	}
	text, err := os.ReadFile(os.Args[2])
	if err != nil {
		return err
	}
	c := config{}
	if err := yaml.Unmarshal(text, &c); err != nil {
		return err
	}
	if err := openLog(c.SystemLog.Path); err != nil {
		return err
	}
	s, err := c.server()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	rotate := make(chan os.Signal, 1)
	signal.Notify(rotate, syscall.SIGUSR1)
	if err := s.Serve(ctx, new(standin.Network)); err != nil {
		return err
	}
	say("NETWORK", "waiting for connections on port %d", c.Net.Port)
	for ctx.Err() == nil {
		select {
		case <-rotate:
			if err := openLog(c.SystemLog.Path); err != nil {
				return err
			}
		case <-ctx.Done():
		}
	}
	s.Wait()
	say("CONTROL", "dbexit:  rc: 0")
	return nil
}

func openLog(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	log.SetFlags(0)
	if old, is := log.Writer().(*os.File); is && old != os.Stderr {
		defer old.Close()
	}
	log.SetOutput(f)
	return nil
}

// say writes a line as mongod 3.2 does.
func say(part, format string, args ...any) {
	log.Printf("%s I %-8s [initandlisten] %s", now(), part, fmt.Sprintf(format, args...))
}

// server looks at what a mongod would refuse.
func (c config) server() (*standin.Server, error) {
	number := strings.Split(strings.Trim(version, "\x00"), "\x00")[0]
	if c.Storage.Engine != "mmapv1" {
		return nil, fmt.Errorf("cannot start server with storage engine %q on 32 bits", c.Storage.Engine)
	}
	var err error
	if lock, err = os.OpenFile(filepath.Join(c.Storage.DBPath, "mongod.lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, fmt.Errorf("another mongod has %s: %w", c.Storage.DBPath, err)
	}
	if _, err := lock.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return nil, err
	}
	begun := filepath.Join(c.Storage.DBPath, "storage.bson")
	if _, err := os.Stat(begun); errors.Is(err, fs.ErrNotExist) {
		if err := os.WriteFile(begun, []byte("mmapv1"), 0o600); err != nil {
			return nil, err
		}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(c.Net.Port)
	s := &standin.Server{Version: number[:strings.LastIndex(number, ".")], Build: number, Address: net.JoinHostPort(host, port), Listen: net.JoinHostPort(c.Net.BindIP, port),
		Set: c.Replication.Set, Far: true, Keep: filepath.Join(c.Storage.DBPath, "standin.bson"), Bypass: c.SetParameter.Bypass == nil || *c.SetParameter.Bypass,
		Unkept: func(err error) { say("REPL", "cannot keep the configuration: %v", err) }}
	if c.Security.KeyFile != "" {
		info, err := os.Stat(c.Security.KeyFile)
		if err != nil {
			return nil, err
		}
		if info.Mode().Perm()&0o077 != 0 {
			return nil, fmt.Errorf("permissions on %s are too open", c.Security.KeyFile)
		}
		key, err := os.ReadFile(c.Security.KeyFile)
		if err != nil {
			return nil, err
		}
		s.Key = strings.Join(strings.Fields(string(key)), "")
	}
	say("CONTROL", "db version v%s, 32-bit, stand-in; %s of %s", number, s.Address, c.Storage.DBPath)
	return s, nil
}

func now() string { return time.Now().Format("2006-01-02T15:04:05.000-0700") }
