// golang.org/x/oauth2: the token is in a file, which is read before and saved after, as in the quickstarts that use it
// (tokenFromFile, saveToken). The package has no lock, and no other way to save.
//
//	apt-get install golang-go golang-golang-x-oauth2-dev
//
// CLOCK_STEP, in seconds, moves this program's clock, since no preloaded library can: the package compares the clock only with
// the expiry that is in the file.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/oauth2"
)

func tokenFromFile(file string) (*oauth2.Token, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	tok := &oauth2.Token{}
	err = json.NewDecoder(f).Decode(tok)
	return tok, err
}

func saveToken(path string, token *oauth2.Token) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0600)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewEncoder(f).Encode(token)
}

func main() {
	path, tokenURL, clientID, clientSecret := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	seconds, _ := strconv.Atoi(os.Getenv("CLOCK_STEP"))
	step := time.Duration(seconds) * time.Second
	config := oauth2.Config{ClientID: clientID, ClientSecret: clientSecret, Endpoint: oauth2.Endpoint{
		TokenURL: tokenURL, AuthStyle: oauth2.AuthStyleInParams}}
	saved, err := tokenFromFile(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "read:", err)
		os.Exit(1)
	}
	saved.Expiry = saved.Expiry.Add(-step)
	token, err := config.TokenSource(context.Background(), saved).Token()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if token.AccessToken != saved.AccessToken {
		kept := *token
		kept.Expiry = kept.Expiry.Add(step)
		if err := saveToken(path, &kept); err != nil {
			fmt.Fprintln(os.Stderr, "save:", err)
			os.Exit(1)
		}
	}
	fmt.Println(token.AccessToken)
}
