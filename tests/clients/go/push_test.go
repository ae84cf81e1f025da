package contract

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	audience = "https://receiver.example.com"
	account  = "pusher@demo.iam.gserviceaccount.com"
)

type pushed struct {
	authorization string
	body          []byte
}

// claims of a token that the server's own keys have signed.
func verified(t *testing.T, token string) (claims struct {
	Aud, Email string
	Verified   bool `json:"email_verified"`
	Iat, Exp   int64
}) {
	t.Helper()
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		t.Fatalf("%q is not a token", token)
	}
	var header struct{ Alg, Kid string }
	decodePart(t, parts[0], &header)
	decodePart(t, parts[1], &claims)
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	must(t, err)
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if header.Alg != "RS256" {
		t.Fatalf("signed with %q", header.Alg)
	}
	must(t, rsa.VerifyPKCS1v15(publicKey(t, header.Kid), crypto.SHA256, digest[:], signature))
	return claims
}

func decodePart(t *testing.T, part string, into any) {
	t.Helper()
	text, err := base64.RawURLEncoding.DecodeString(part)
	must(t, err)
	must(t, json.Unmarshal(text, into))
}

func publicKey(t *testing.T, id string) *rsa.PublicKey {
	t.Helper()
	response, err := http.Get("http://" + os.Getenv("PUBSUB_EMULATOR_HOST") + "/oauth2/v3/certs")
	must(t, err)
	defer response.Body.Close()
	var set struct{ Keys []struct{ Kid, N, E string } }
	must(t, json.NewDecoder(response.Body).Decode(&set))
	number := func(text string) *big.Int {
		encoded, err := base64.RawURLEncoding.DecodeString(text)
		must(t, err)
		return new(big.Int).SetBytes(encoded)
	}
	for _, key := range set.Keys {
		if key.Kid == id {
			return &rsa.PublicKey{N: number(key.N), E: int(number(key.E).Int64())}
		}
	}
	t.Fatalf("the server has no key %q", id)
	return nil
}

// @spec PSH-10 PSH-50 PSH-51
func TestPushWithToken(t *testing.T) {
	b := newBench(t)
	topic := b.topic("topic")
	requests := make(chan pushed, 10)
	refusals := make(chan int, 1)
	refusals <- http.StatusInternalServerError // the first is refused, the others are taken
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		select {
		case status := <-refusals:
			w.WriteHeader(status)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
		requests <- pushed{r.Header.Get("Authorization"), body}
	}))
	t.Cleanup(receiver.Close)
	name := b.subscriptionName("subscription")
	_, err := b.SubscriptionAdminClient.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: name, Topic: topic, PushConfig: &pubsubpb.PushConfig{
			PushEndpoint: receiver.URL + "/push?token=t",
			AuthenticationMethod: &pubsubpb.PushConfig_OidcToken_{OidcToken: &pubsubpb.PushConfig_OidcToken{
				ServiceAccountEmail: account, Audience: audience,
			}},
		},
	})
	if status.Code(err) == codes.Unimplemented {
		t.Skipf("the server does not push: %v", err)
	}
	must(t, err)
	data := []byte{0, 255}
	ids := b.publish(topic, &pubsub.Message{Data: data, Attributes: map[string]string{"color": "red"}})
	for range 2 {
		checkPushed(t, requests, name, ids[0], data)
	}
	select {
	case again := <-requests:
		t.Fatalf("pushed again: %s", again.body)
	case <-time.After(3 * quiet):
	}
}

func checkPushed(t *testing.T, requests chan pushed, subscription, id string, data []byte) {
	t.Helper()
	var request pushed
	select {
	case request = <-requests:
	case <-time.After(hangLimit):
		t.Fatal("nothing is pushed")
	}
	var body struct {
		Subscription string
		Message      struct {
			MessageID  string `json:"messageId"`
			Data       []byte
			Attributes map[string]string
		}
	}
	must(t, json.Unmarshal(request.body, &body))
	if body.Subscription != subscription || body.Message.MessageID != id ||
		!bytes.Equal(body.Message.Data, data) || body.Message.Attributes["color"] != "red" {
		t.Fatalf("pushed %s", request.body)
	}
	token, found := strings.CutPrefix(request.authorization, "Bearer ")
	if !found {
		t.Fatalf("the authorization is %q", request.authorization)
	}
	claims := verified(t, token)
	if claims.Aud != audience || claims.Email != account || !claims.Verified ||
		claims.Exp != claims.Iat+3600 {
		t.Fatalf("the token claims %+v", claims)
	}
}
