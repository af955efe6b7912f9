package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	server, err := url.Parse(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	nc, err := nats.Connect(server.String(), nats.CustomInboxPrefix("_INBOX_"+server.User.Username()))
	if err != nil {
		log.Fatal(err)
	}
	js, _ := nc.JetStream()
	var sent sync.Map
	var refused atomic.Bool
	var lastAt atomic.Int64
	nc.Subscribe("adverts-rejected.>", func(message *nats.Msg) {
		var rejection struct{ MessageID, Reason string }
		json.Unmarshal(message.Data, &rejection)
		if _, isOurs := sent.Load(rejection.MessageID); isOurs {
			log.Print(rejection.MessageID, " refused: ", rejection.Reason)
			refused.Store(true)
			lastAt.Store(time.Now().UnixMilli())
		}
	})
	for lines := json.NewDecoder(bufio.NewReader(os.Stdin)); lines.More(); {
		var line json.RawMessage
		var message struct{ Property struct{ UUID string } }
		if lines.Decode(&line) != nil || json.Unmarshal(line, &message) != nil {
			log.Fatal("standard input must have one JSON message per line")
		}
		hash := sha256.Sum256(line)
		id := hex.EncodeToString(hash[:]) // equal messages have equal ids
		sent.Store(id, true)
		ack, err := js.Publish("adverts."+message.Property.UUID, line, nats.MsgId(id))
		if err != nil {
			log.Fatal(err)
		}
		if ack.Duplicate {
			log.Print(id, " is already in the stream")
		}
		lastAt.Store(time.Now().UnixMilli())
	}
	for time.Now().UnixMilli()-lastAt.Load() < 2000 { // wait for late rejections
		time.Sleep(100 * time.Millisecond)
	}
	if refused.Load() {
		os.Exit(1)
	}
}
