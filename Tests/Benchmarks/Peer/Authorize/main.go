// What `appauth-bench authz SECONDS` measures, with golang.org/x/oauth2: authorization requests with PKCE, state and nonce.
//
//	authorize SECONDS
package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/oauth2"
)

func random() string {
	bytes := make([]byte, 32)
	if _, err := rand.Read(bytes); err != nil {
		panic(err)
	}
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func cpu() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	config := oauth2.Config{
		ClientID: "bench", RedirectURL: "http://127.0.0.1:49152/callback",
		Scopes:   []string{"openid", "profile", "offline_access"},
		Endpoint: oauth2.Endpoint{AuthURL: "https://accounts.example.org/authorize"},
	}
	n, length, start, used := 0, 0, time.Now(), cpu()
	for time.Since(start).Seconds() < seconds {
		for i := 0; i < 64; i++ {
			challenge := sha256.Sum256([]byte(random()))
			length = len(config.AuthCodeURL(
				random(), oauth2.SetAuthURLParam("nonce", random()), oauth2.SetAuthURLParam("prompt", "consent"),
				oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])),
				oauth2.SetAuthURLParam("code_challenge_method", "S256")))
		}
		n += 64
	}
	fmt.Printf("{\"n\": %d, \"cpu_s\": %.6f, \"len\": %d}\n", n, cpu()-used, length)
}
