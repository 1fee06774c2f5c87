package fetch

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
)

// Status is an answer of a server that is not the file.
type Status struct{ Code int }

func (s *Status) Error() string {
	return fmt.Sprintf("the server says %d %s", s.Code, http.StatusText(s.Code))
}

// lasting tells the faults that another try would meet again: no such file, no such host, no right, a full disk.
func lasting(err error) bool {
	var status *Status
	if errors.As(err, &status) {
		return status.Code < 500 && status.Code != http.StatusRequestTimeout && status.Code != http.StatusTooManyRequests
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return true
	}
	var file *fs.PathError
	return errors.As(err, &file) || errors.Is(err, ErrContent) || errors.Is(err, errTooLarge)
}

// advice adds what a person can look at when a server cannot be reached.
func advice(err error) error {
	var net net.Error
	if errors.As(err, &net) {
		return fmt.Errorf("%w; check the network, HTTP_PROXY and the address", err)
	}
	return err
}
