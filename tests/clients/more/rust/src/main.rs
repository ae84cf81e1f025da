//! One round trip with Google's Rust client: create, publish, receive, ack.

use google_cloud_auth::credentials::anonymous::Builder as Anonymous;
use google_cloud_pubsub::client::{Publisher, Subscriber, SubscriptionAdmin, TopicAdmin};
use google_cloud_pubsub::model::Message;
use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = format!("http://{}", std::env::var("PUBSUB_EMULATOR_HOST")?);
    let project = format!("rust-{}", std::process::id());
    let topic = format!("projects/{project}/topics/topic");
    let subscription = format!("projects/{project}/subscriptions/subscription");
    let nobody = || Anonymous::new().build();

    let topics = TopicAdmin::builder()
        .with_endpoint(&endpoint)
        .with_credentials(nobody())
        .build()
        .await?;
    topics.create_topic().set_name(&topic).send().await?;
    let subscriptions = SubscriptionAdmin::builder()
        .with_endpoint(&endpoint)
        .with_credentials(nobody())
        .build()
        .await?;
    subscriptions
        .create_subscription()
        .set_name(&subscription)
        .set_topic(&topic)
        .send()
        .await?;

    let publisher = Publisher::builder(&topic)
        .with_endpoint(&endpoint)
        .with_credentials(nobody())
        .build()
        .await?;
    publisher.publish(Message::new().set_data("hello")).await?;

    let subscriber = Subscriber::builder()
        .with_endpoint(&endpoint)
        .with_credentials(nobody())
        .build()
        .await?;
    let mut stream = subscriber.subscribe(&subscription).build();
    let (message, handler) = stream.next().await.ok_or("the stream ended")??;
    assert_eq!(message.data, "hello");
    handler.ack();
    println!("received {:?}", message.data);
    Ok(())
}
