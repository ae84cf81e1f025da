"""Every limit of the service, with the rule it comes from.

Both profiles hold all of these (GEN-02). Sizes are decimal where the service's texts are decimal
(PUB-30); durations are in the unit that ends the name.
"""

RESOURCE_ID_CHARACTERS_MIN = 3  # NAM-12
RESOURCE_ID_CHARACTERS_MAX = 255  # NAM-12
PROJECT_ID_CHARACTERS = 255  # NAM-17: ours; anything goes

MESSAGES_PER_PUBLISH = 1_000  # PUB-20
PUBLISH_REQUEST_BYTES = 10_000_000  # PUB-21
ATTRIBUTES_PER_MESSAGE = 100  # PUB-24
ATTRIBUTE_KEY_BYTES = 256  # PUB-25
ATTRIBUTE_VALUE_BYTES = 1_024  # PUB-26
ORDERING_KEY_BYTES = 1_024  # PUB-27

#: The only keys that begin with "goog" a publisher may set: those that client libraries set
#: (PUB-29).
CLIENT_ATTRIBUTE_KEYS = frozenset(
    {
        "googclient_traceparent",
        "googclient_tracestate",
        "googclient_OpenCensusTraceContextKey",
        "googclient_OpenCensusTagContextKey",
        "googclient_OpenTelemetrySpanContext",
    }
)

ACK_DEADLINE_MIN_S = 10  # SUB-04
ACK_DEADLINE_MAX_S = 600  # SUB-04, DLV-21
ACK_DEADLINE_DEFAULT_S = 10  # SUB-04
ACK_DEADLINE_CLOUD_STORAGE_S = 300  # GCS-07
CLOUD_STORAGE_FILE_DEFAULT_S = 300  # GCS-07
ACK_REQUEST_BYTES = 524_288  # DLV-27
RECEIPT_WITHIN_S = 1  # CLI-10..14: clients confirm what they get at once, or every 100 ms
#: How long the client of a stream that broke off may take to answer, since clients gather answers
#: for 100 ms, and some stop their streams first (STR-05, CLI-13).
LAST_ANSWERS_MS = 250

PULL_MESSAGES = 1_000  # PUL-01, STR-09
#: A response stays below this unless one message alone is larger. STR-09 has 10 MB, but clients
#: that find an emulator by PUBSUB_EMULATOR_HOST keep gRPC's own limit of 4 MiB on what they get.
RESPONSE_BYTES = 4_000_000

RETENTION_MIN_S = 600  # SUB-05, TOP-04
RETENTION_MAX_S = 2_678_400  # SUB-05, TOP-04
RETENTION_DEFAULT_S = 604_800  # SUB-05
EXPIRATION_MIN_S = 86_400  # SUB-07
EXPIRATION_DEFAULT_S = 2_678_400  # SUB-07
FILTER_BYTES = 256  # FLT-01, FLT-18

#: Of one request without the known size: no valid id is so short that more of them would fit into
#: the size that the service takes (DLV-27).
ACK_IDS = 30_000
#: Of one repeated field or mask that no other limit speaks of; no valid request comes near.
REPEATED_ELEMENTS = 1_000
MASK_CHARACTERS = 10_000

POLICY_BYTES = 65_536  # IAM-04; the documentation of IAM has both
POLICY_PRINCIPALS = 1_500

LABELS = 64  # LBL-01
LABEL_KEY_CHARACTERS = 63  # LBL-01
LABEL_VALUE_CHARACTERS = 63  # LBL-01
LABEL_BYTES = 128  # LBL-01: of a key, and of a value

PAGE_SIZE_MAX = 1_000  # LST-02
PAGE_SIZE_DEFAULT = 100  # LST-02: the server's choice

TOPICS_PER_PROJECT = 10_000  # QUO-01
SUBSCRIPTIONS_PER_PROJECT = 10_000  # QUO-01
SUBSCRIPTIONS_PER_TOPIC = 10_000  # QUO-01, NAM-03

SCHEMAS_PER_PROJECT = 10_000  # SCH-14, QUO-01
REVISIONS_PER_SCHEMA = 20  # SCH-14
SCHEMA_DEFINITION_BYTES = 300_000  # SCH-14: "300 KB"; of compiled_bytes too

BACKOFF_MIN_DEFAULT_S = 10  # SUB-11
BACKOFF_MAX_DEFAULT_S = 600  # SUB-11
BACKOFF_LONGEST_S = 600  # SUB-11: either bound
DELIVERY_ATTEMPTS_MIN = 5  # SUB-09, and the default
DELIVERY_ATTEMPTS_MAX = 100  # SUB-09
EXACTLY_ONCE_ACK_DEADLINE_DEFAULT_S = 60  # SUB-04, when the flag is set at creation

SNAPSHOTS_PER_PROJECT = 5_000  # SNP-07, QUO-01
SNAPSHOTS_PER_TOPIC = 5_000  # SNP-07
SNAPSHOT_LIFE_S = 604_800  # SNP-02
SNAPSHOT_LIFE_MIN_S = 3_600  # SNP-03
