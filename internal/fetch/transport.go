package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// NewTransport returns an HTTP transport that takes its proxy from the
// environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY), trusts the system's
// certificates and those in the file that SSL_CERT_FILE names (also on macOS,
// where Go itself would not look), and never decompresses: what arrives is what
// the server stores.
func NewTransport() (*http.Transport, error) {
	t := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   15 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       60 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true,
	}
	if name := os.Getenv("SSL_CERT_FILE"); name != "" {
		pem, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("certificates of SSL_CERT_FILE: %w", err)
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("certificates of SSL_CERT_FILE: %s holds none", name)
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return t, nil
}

const maxRedirects = 10

var errRedirect = errors.New("redirect refused")

// checkRedirect allows a redirect that stays on http or https and does not give
// up encryption.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from, to := via[len(via)-1].URL.Scheme, req.URL.Scheme
	switch {
	case to != "http" && to != "https":
		return fmt.Errorf("%w: from %s to %s", errRedirect, from, to)
	case from == "https" && to != "https":
		return fmt.Errorf("%w: from https to %s", errRedirect, to)
	case len(via) >= maxRedirects:
		return fmt.Errorf("%w: more than %d in a row", errRedirect, maxRedirects)
	}
	return nil
}
