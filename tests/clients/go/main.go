// A subscriber and publisher on the official Go client: `client PROJECT TOPIC SUBSCRIPTION`.
//
// It publishes each line of its input and prints a line for each message it receives, until the
// input ends.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"cloud.google.com/go/pubsub/v2"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	client, err := pubsub.NewClient(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	publisher := client.Publisher(os.Args[2])
	ended := make(chan error)
	go func() {
		ended <- client.Subscriber(os.Args[3]).Receive(ctx, receive)
	}()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		result := publisher.Publish(ctx, &pubsub.Message{Data: lines.Bytes()})
		if _, err := result.Get(ctx); err != nil {
			log.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		log.Fatal(err)
	}
}

func receive(_ context.Context, message *pubsub.Message) {
	message.Ack()
	fmt.Println("received", string(message.Data))
}
