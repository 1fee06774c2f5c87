package mongod

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"go.mongodb.org/mongo-driver/bson"
	"go.mongodb.org/mongo-driver/mongo"

	"grove/firstboot/mongod/warning"
)

// Warnings asks the server on this port of the loopback address for its start-up warnings, each in one text. A server with access control refuses that (seen with 6.0.5:
// "not authorized"), before the first user exists too: the localhost exception is for making one. Then its log file is read, which has the same.
func Warnings(ctx context.Context, port int, log string, l Login) ([]string, error) {
	var lines, more []string
	err := ask(ctx, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), l, func(ctx context.Context, admin *mongo.Database) error {
		var told struct{ Log []string }
		if err := admin.RunCommand(ctx, bson.D{{Key: "getLog", Value: "startupWarnings"}}).Decode(&told); err != nil {
			return err
		}
		lines = told.Log
		more = perCPU(ctx, admin)
		return nil
	})
	if err == nil {
		return append(warning.Texts(lines), more...), nil
	}
	text, unread := Tail(log, 512<<10) // all that a start says, ten times over
	if unread != nil {
		return nil, fmt.Errorf("read mongod's start-up warnings: %w; %w", err, unread)
	}
	return warning.Texts(warning.OfLog(text)), nil
}

// perCPU asks a server of 8.0 and later whether its TCMalloc works as it is meant to; earlier ones have no such word.
func perCPU(ctx context.Context, admin *mongo.Database) []string {
	var told struct {
		TCMalloc struct {
			PerCPU *bool `bson:"usingPerCPUCaches"`
		} `bson:"tcmalloc"`
	}
	err := admin.RunCommand(ctx, bson.D{{Key: "serverStatus", Value: 1}, {Key: "tcmalloc", Value: 1}}).Decode(&told)
	if err != nil || told.TCMalloc.PerCPU == nil || *told.TCMalloc.PerCPU {
		return nil
	}
	return []string{"TCMalloc does not use per-CPU caches (serverStatus: tcmalloc.usingPerCPUCaches is false)"}
}

// Tail is the end of a file.
func Tail(file string, most int64) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		if _, err := f.Seek(-most, io.SeekEnd); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}
