// What `sign-in login` does, with golang.org/x/oauth2 and go-oidc: discovery, the authorization code flow with PKCE in the
// browser, the exchange and the verification of the ID token. Prints the URL for the browser on standard error, and the subject.
//
//	signin ISSUER CLIENT
package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"

	oidc "github.com/coreos/go-oidc"
	"golang.org/x/oauth2"
)

func main() {
	issuer, client := os.Args[1], os.Args[2]
	context := context.Background()
	provider, err := oidc.NewProvider(context, issuer)
	check(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	config := oauth2.Config{ClientID: client, Endpoint: provider.Endpoint(), Scopes: []string{"openid", "profile", "offline_access"},
		RedirectURL: "http://" + listener.Addr().String() + "/callback"}
	config.Endpoint.AuthStyle = oauth2.AuthStyleInParams
	state, nonce, verifier := random(), random(), random()
	challenge := sha256.Sum256([]byte(verifier))
	url := config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.SetAuthURLParam("prompt", "consent"),
		oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256"))
	fmt.Fprintln(os.Stderr, url)
	check(exec.Command(os.Getenv("BROWSER"), url).Run())

	code := make(chan string, 1)
	go http.Serve(listener, http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.FormValue("state") == state {
			fmt.Fprintln(response, "You are signed in.")
			code <- request.FormValue("code")
		}
	}))
	token, err := config.Exchange(context, <-code, oauth2.SetAuthURLParam("code_verifier", verifier))
	check(err)
	text, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: client}).Verify(context, text)
	check(err)
	if idToken.Nonce != nonce {
		panic("the nonce is wrong")
	}
	session, err := json.Marshal(token)
	check(err)
	check(os.WriteFile(os.Getenv("HOME")+"/go-session.json", session, 0o600))
	fmt.Println(idToken.Subject)
}

func random() string {
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	check(err)
	return base64.RawURLEncoding.EncodeToString(bytes)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
