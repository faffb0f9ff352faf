// Of golang.org/x/oauth2, what `appauth-bench herd N` is of the library: N goroutines want a token of one expired session.
//
//	apt-get install golang-go golang-golang-x-oauth2-dev
//	GO111MODULE=off GOPATH=/usr/share/gocode go build -o …/herd Tests/Benchmarks/Peer/Herd
//
// Prints the same line of JSON.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
)

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	text, err := os.ReadFile(os.Getenv("STATE"))
	if err != nil {
		panic(err)
	}
	var session struct {
		TokenEndpoint string  `json:"token_endpoint"`
		AccessToken   string  `json:"access_token"`
		RefreshToken  string  `json:"refresh_token"`
		ExpiresAt     float64 `json:"expires_at"`
	}
	if err := json.Unmarshal(text, &session); err != nil {
		panic(err)
	}
	config := oauth2.Config{ClientID: "bench", Endpoint: oauth2.Endpoint{
		TokenURL: session.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams}}
	source := config.TokenSource(context.Background(), &oauth2.Token{
		AccessToken: session.AccessToken, RefreshToken: session.RefreshToken, TokenType: "Bearer",
		Expiry: time.Unix(int64(session.ExpiresAt), 0)})

	start := time.Now()
	var good int64
	var all sync.WaitGroup
	all.Add(count)
	for i := 0; i < count; i++ {
		go func() {
			defer all.Done()
			if token, err := source.Token(); err == nil && token.AccessToken != "" {
				atomic.AddInt64(&good, 1)
			}
		}()
	}
	all.Wait()
	fmt.Printf("{\"n\": %d, \"wall_s\": %.6f, \"good\": %d}\n", count, time.Since(start).Seconds(), good)
}
