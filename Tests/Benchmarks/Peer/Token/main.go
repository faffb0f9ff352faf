// What `sign-in token` does, with golang.org/x/oauth2: prints the access token of the session in a file, after a refresh
// under a lock if it has expired. The new session is on the disk before the token is printed.
//
//	token FILE
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/oauth2"
)

type session struct {
	ClientID string        `json:"client_id"`
	Endpoint string        `json:"token_endpoint"`
	Token    *oauth2.Token `json:"token"`
}

func main() {
	path := os.Args[1]
	found := read(path)
	if !found.Token.Valid() {
		lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
		check(err)
		check(syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
		if found = read(path); !found.Token.Valid() {
			refresh(&found)
			write(path, found)
		}
	}
	fmt.Println(found.Token.AccessToken)
}

func refresh(session *session) {
	config := oauth2.Config{ClientID: session.ClientID, Endpoint: oauth2.Endpoint{
		TokenURL: session.Endpoint, AuthStyle: oauth2.AuthStyleInParams}}
	context, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	token, err := config.TokenSource(context, session.Token).Token()
	check(err)
	session.Token = token
}

func read(path string) (found session) {
	text, err := os.ReadFile(path)
	check(err)
	check(json.Unmarshal(text, &found))
	return
}

func write(path string, session session) {
	text, err := json.Marshal(session)
	check(err)
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	check(err)
	_, err = file.Write(text)
	check(err)
	check(file.Sync())
	check(file.Close())
	check(os.Rename(path+".new", path))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
