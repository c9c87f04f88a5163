"""Real servers for the whole session live in `tests/servers`, one module a part."""

import os

from hypothesis import settings

# Set before boto3, Ray or openai are imported anywhere, in workers too.
os.environ.update(
    AWS_EC2_METADATA_DISABLED="true",
    AWS_REQUEST_CHECKSUM_CALCULATION="when_required",
    AWS_RESPONSE_CHECKSUM_VALIDATION="when_required",
    RAY_USAGE_STATS_ENABLED="0",
)

# In CI the same examples each time, so that what fails there fails here too; elsewhere new ones.
settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")

pytest_plugins = [
    "tests.servers.s3",
    "tests.servers.milvus",
    "tests.servers.embeddings",
    "tests.servers.browser",
    "tests.servers.ray_head",
    "tests.servers.tls",
]
