// A subscriber and publisher on the official Go client: `client PROJECT TOPIC SUBSCRIPTION`.
//
// It publishes each line of its input and prints a line for each message it receives, until the
// input ends. With a number as a fourth argument it publishes nothing: it has that many messages
// at hand at once, stops receiving, nacks all of them while it stops, says so, and keeps its
// connection until the input ends.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"sync"

	"cloud.google.com/go/pubsub/v2"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	client, err := pubsub.NewClient(ctx, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 4 {
		count, err := strconv.Atoi(os.Args[4])
		if err != nil {
			log.Fatal(err)
		}
		if err := stopAndNack(client.Subscriber(os.Args[3]), count); err != nil {
			log.Fatal(err)
		}
		fmt.Println("stopped")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
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

func stopAndNack(subscriber *pubsub.Subscriber, count int) error {
	ctx, cancel := context.WithCancel(context.Background())
	var atHand sync.WaitGroup
	atHand.Add(count)
	go func() {
		atHand.Wait()
		cancel()
	}()
	return subscriber.Receive(ctx, func(ctx context.Context, message *pubsub.Message) {
		if ctx.Err() == nil {
			atHand.Done()
			<-ctx.Done()
		}
		message.Nack()
	})
}
